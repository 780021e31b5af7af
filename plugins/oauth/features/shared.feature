Feature: What holds for every operation of OAuth
  Challenges for tokens, refusals before the operation is called, and faults that no client causes.

  @getDidAuthChallenge
  Scenario: A challenge that the signature names is given to no other client
    Given Hana has a DID
    When Hana asks for two challenges that she will name and signs for a token with the second
    Then the answer is 200

  @getDidAuthChallenge
  Scenario: A challenge for one request serves for that request
    Given Hana has a DID
    When Hana signs for a token with a challenge for the target /api/v1/auth/token
    Then the answer is 200

  @getDidAuthChallenge
  Scenario: A challenge for one request serves for no other
    Given Hana has a DID
    When Hana signs for a token with a challenge for the target /auth/token?scope=dids:list
    Then the answer is 401 AUTH_FAILED
