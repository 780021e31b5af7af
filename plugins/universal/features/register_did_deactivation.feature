@registerDidDeactivation
Feature: Deactivate a DID, as a registrar does

  Scenario: What is to be signed
    Given Hana has a DID
    When a registrar begins registerDidDeactivation for the DID of Hana
    Then the answer is 200
    And the action is signPayload

  Scenario: What was signed is done
    Given Hana has a DID
    When Hana does registerDidDeactivation as a registrar does
    Then the answer is 200
    And the state is finished
