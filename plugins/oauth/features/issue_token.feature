@issueToken
Feature: Get an access token
  Who has shown who it is once, with a signature or an API key, gets a token for ten minutes of requests.

  Scenario: Hana signs and gets a token of her DID
    Given Hana has a DID
    When Hana signs for a token
    Then the answer is 200
    And the token is about the DID of Hana and ends in ten minutes
    And the token verifies with a key of the service
    And the answer must not be cached

  Scenario Outline: An API key gets a token in any of its forms
    When a token is asked for with the API key as <form>
    Then the answer is 200
    And the answer must not be cached

    Examples:
      | form      |
      | X-API-Key |
      | ApiKey    |
      | Bearer    |

  Scenario: A token of an API key does what the key does
    Given Olu has an API key that may only list DIDs
    And Olu has a token of the key
    When listDids is sent with the token of Olu
    Then the answer is 200

  Scenario: Olu acts for Hana
    Given Hana has a DID
    When Olu asks with an admin key for a token that acts for Hana
    Then the answer is 200
    And the token is about the DID of Hana and names Olu as the actor

  @401:AUTH_FAILED
  Scenario: A token gets no other token
    Given Hana has a DID
    And Hana has a token
    When issueToken is sent with the token of Hana
    Then the answer is 401 AUTH_FAILED

  @401:AUTH_FAILED
  Scenario: A signature serves once
    Given Hana has a DID
    When Hana sends one signature for a token twice
    Then the answer is 401 AUTH_FAILED

  @401:AUTH_FAILED
  Scenario: Tokens of a revoked key are refused
    Given Olu has an API key that may only list DIDs
    And Olu has a token of the key
    And the key of Olu was revoked
    When listDids is sent with the token of Olu
    Then the answer is 401 AUTH_FAILED

  @401:AUTH_FAILED
  Scenario: Tokens of a deactivated DID are refused
    Given Hana has a DID
    And Hana has a token
    And Hana has deactivated the DID
    When createDid is sent with the token of Hana
    Then the answer is 401 AUTH_FAILED

  @403:FORBIDDEN
  Scenario Outline: A DID's token is not an API key
    Given Hana has a DID
    And Hana has a token
    When <operation> is sent with the token of Hana
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation    |
      | createDid    |
      | listDids     |
      | createApiKey |
      | listApiKeys  |
      | getApiKey    |
      | updateApiKey |
      | rotateApiKey |
      | revokeApiKey |

  @403:FORBIDDEN
  Scenario: A key gives no scope that it does not have
    Given Olu has an API key that may only list DIDs
    When Olu asks with it for a token with the scope dids:create
    Then the answer is 403 FORBIDDEN

  @403:FORBIDDEN
  Scenario: A key that may not act for others gets no token that does
    Given Hana has a DID
    And Olu has an API key that may only list DIDs
    When Olu asks with it for a token that acts for Hana
    Then the answer is 403 FORBIDDEN

  @400:INVALID_REQUEST
  Scenario Outline: What OAuth does not know is refused
    When a token is asked for with <member> "<value>"
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | member     | value    |
      | grant_type | password |
      | scope      | a  b     |
      | scope      | nope     |
      | grantType  | x        |

  @400:INVALID_DID
  Scenario: A subject that is not a DID
    When a token is asked for with subject "did:ids:absent"
    Then the answer is 400 INVALID_DID

  @404:DID_NOT_FOUND
  Scenario: An unregistered subject
    When a token is asked for with subject "did:ids:QmPvhbZpVZBeJcTVUcMJgfSDgxs8ymKZJzSYhkXmiNUNhS"
    Then the answer is 404 DID_NOT_FOUND

  @410:DID_DEACTIVATED
  Scenario: A subject that is no more
    Given Hana has a DID
    And Hana has deactivated the DID
    When Olu asks with an admin key for a token that acts for Hana
    Then the answer is 410 DID_DEACTIVATED
