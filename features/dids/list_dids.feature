@listDids
Feature: List the DIDs that a key created

  Scenario: Page by page
    Given Hana has a DID
    And Vera has a DID
    When the operator lists DIDs one by one
    Then the answer is 200
    And the pages do not overlap

  Scenario: An administrator lists the DIDs of all keys
    Given Olu has an API key that may only create DIDs
    And Olu creates a DID with it
    When the operator lists all DIDs
    Then the answer is 200
    And the DID of Olu is in the list
    When the operator lists its own DIDs
    Then the DID of Olu is not in the list

  @403:FORBIDDEN
  Scenario: A key that is not an admin key lists its own DIDs alone
    Given Olu has an API key that may only list DIDs
    When Olu lists all DIDs with it
    Then the answer is 403 FORBIDDEN

  @403:FORBIDDEN
  Scenario: A key without the scope may not list
    Given Olu has an API key that may only create DIDs
    When Olu sends listDids with it
    Then the answer is 403 FORBIDDEN

  Scenario: A revoked key finds no DID
    Given Olu has an API key that may only list DIDs
    And the key of Olu was revoked
    When Olu sends listDids with it
    Then the answer is 401 AUTH_FAILED

  Scenario: A rotated key works for its grace period
    Given Olu has an API key that may only list DIDs
    And the key of Olu was rotated with an hour of grace
    When Olu sends listDids with it
    Then the answer is 200
