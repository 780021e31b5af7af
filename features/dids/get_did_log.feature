@getDidLog
Feature: Get the log of a DID

  Scenario: Anybody checks it alone
    Given Hana has a DID
    And Hana has changed the document once
    And Hana has deactivated the DID
    When Vera reads the log of the DID of Hana
    Then the answer is 200
    And the log proves 3 versions to anybody

  Scenario: A key that the service made is none that the controller named
    Given Hana has a DID with strict evidence
    When Hana asks to rotate at once
    And Vera reads the log of the DID of Hana
    Then the answer is 200
    And the log tells anybody of a key in version 2 that Hana has not named
    And a reader who wants every key to be named refuses the log

  Scenario: A key of her own is named
    Given Hana has a DID with strict evidence
    When Hana asks to rotate to an own key
    And Vera reads the log of the DID of Hana
    Then the answer is 200
    And a reader who wants every key to be named takes the log

  Scenario: Nothing was added
    Given Hana has a DID
    When Vera reads the log of the DID of Hana again with the tag that she got
    Then the answer is 304

  @503:DID_QUARANTINED
  Scenario: Whether the DID may be shown cannot be told from an index that another program changed
    Given a service that hides what is deactivated and whose index was changed by another program
    And a good request for getDidLog
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED
