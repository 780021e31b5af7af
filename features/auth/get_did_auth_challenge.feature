@getDidAuthChallenge
Feature: Get a challenge to sign

  Scenario: It says who asks whom, and until when
    Given Hana has a DID
    When a challenge for the DID of Hana is asked for
    Then the answer is 200
    And the challenge names the DID of Hana, the service and its end
    And no one may keep a copy of the answer

  Scenario: One that the signature names is no one else's
    Given Hana has a DID
    When Hana asks for two challenges that she will name and signs for a token with the second
    Then the answer is 200

  Scenario: A challenge for one request serves for that request
    Given Hana has a DID
    When Hana signs for a token with a challenge for the target /api/v1/auth/token
    Then the answer is 200

  Scenario: A challenge for one request serves for no other
    Given Hana has a DID
    When Hana signs for a token with a challenge for the target /auth/token?scope=dids:list
    Then the answer is 401 AUTH_FAILED

  @400:INVALID_REQUEST
  Scenario: A challenge for a target must be named
    Given Hana has a DID
    When a challenge for the DID of Hana and the target /auth/token is asked for without a name
    Then the answer is 400 INVALID_REQUEST

  @404:DID_NOT_FOUND
  Scenario: A did:key that no one registered gets none
    When a challenge for a did:key that no one registered is asked for
    Then the answer is 404 DID_NOT_FOUND
