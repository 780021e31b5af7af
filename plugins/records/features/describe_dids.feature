@describeDids
Feature: Describe DIDs

  Scenario: A DID claims a name
    Given Vic has a DID that claims the name "Corner Shop"
    And Hana has a DID
    When Hana describes Vic and a DID that is unknown
    Then the answer is 200
    And the answer must not be cached
    And Vic claims the name "Corner Shop", and the other DID has none

  @400:INVALID_DID
  Scenario: A text that is not a DID
    Given Hana has a DID
    When Hana describes shop.example
    Then the answer is 400 INVALID_DID
