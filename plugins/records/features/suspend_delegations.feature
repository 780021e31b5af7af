@suspendDelegations
Feature: Suspend several delegations

  Scenario: A holder suspends all delegations
    Given Hana gives Aki a delegation
    And Hana gives Ben a delegation
    When Hana suspends all delegations
    Then the answer is 200
    And the answer must not be cached
    And the delegations to Aki and Ben are suspended
    And Hana reads that Aki is suspended
    When Hana suspends all delegations
    Then no delegation is suspended

  Scenario: A holder suspends the delegations to one agent
    Given Hana gives Aki a delegation
    And Hana gives Aki a delegation
    And Hana gives Ben a delegation
    When Hana suspends the delegations to Aki
    Then the delegations to Aki are suspended
    And Hana reads that Ben is active

  Scenario: An agent suspends nothing of a holder
    Given Hana gives Aki a delegation
    When Aki suspends all delegations
    Then no delegation is suspended
    And Hana reads that Aki is active

  Scenario: An operator suspends the delegations to one agent
    Given a good request for suspendDelegations
    When it is sent
    Then the answer is 200

  @403:FORBIDDEN
  Scenario: An operator does not suspend all delegations of the installation
    When the operator suspends all delegations
    Then the answer is 403 FORBIDDEN

  @400:INVALID_REQUEST
  Scenario: A request names an agent, or all
    Given Hana has a DID
    When Hana suspends delegations and names none
    Then the answer is 400 INVALID_REQUEST

  @400:INVALID_DID
  Scenario: An agent is named by its DID
    Given Hana has a DID
    When Hana suspends the delegations to shop.example
    Then the answer is 400 INVALID_DID
