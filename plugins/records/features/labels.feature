Feature: Nicknames for DIDs

  Scenario: Hana gives Aki a nickname, and reads it
    Given Hana has a DID
    And Aki has a DID
    When Hana sends setLabel with "My shopping helper" for Aki
    Then the answer is 200
    And the answer must not be cached
    When Hana sends listLabels
    Then the answer is 200
    And Aki has the nickname "My shopping helper"

  Scenario: A second nickname replaces the first
    Given Hana has a DID
    And Aki has a DID
    When Hana sends setLabel with "Helper" for Aki
    And Hana sends setLabel with "Former helper" for Aki
    And Hana sends listLabels
    Then Aki has the nickname "Former helper"

  Scenario: Nobody else reads it
    Given Hana has a DID
    And Aki has a DID
    When Hana sends setLabel with "My shopping helper" for Aki
    And Aki sends listLabels
    Then there is no nickname

  Scenario: A nickname is taken back, and a second time changes nothing
    Given Hana has a DID
    And Aki has a DID
    When Hana sends setLabel with "Helper" for Aki
    And Hana sends deleteLabel for Aki
    And Hana sends deleteLabel for Aki
    Then the answer is 200
    When Hana sends listLabels
    Then there is no nickname

  Scenario: Nicknames are erased with what is kept about a holder
    Given Hana has a DID
    And Aki has a DID
    When Hana sends setLabel with "Helper" for Aki
    And Hana erases her labels
    Then 1 labels are erased
    When Hana sends listLabels
    Then there is no nickname

  @400:INVALID_REQUEST
  Scenario: A nickname that turns the text around
    Given Hana has a DID
    And Aki has a DID
    When Hana sends setLabel with a text that turns around for Aki
    Then the answer is 400 INVALID_REQUEST
