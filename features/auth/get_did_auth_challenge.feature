@getDidAuthChallenge
Feature: Get a challenge to sign

  Scenario: It says who asks whom, and until when
    Given Hana has a DID
    When a challenge for the DID of Hana is asked for
    Then the answer is 200
    And the challenge names the DID of Hana, the service and its end
    And the answer must not be cached

  @400:INVALID_REQUEST
  Scenario: A challenge for a target must be named
    Given Hana has a DID
    When a challenge for the DID of Hana and the target /auth/token is asked for without a name
    Then the answer is 400 INVALID_REQUEST

  @404:DID_NOT_FOUND
  Scenario: An unregistered did:key gets none
    When a challenge for an unregistered did:key is asked for
    Then the answer is 404 DID_NOT_FOUND
