Feature: A log of did:webvh whose versions witnesses approve
  The holder of the log key can write entries. Readers of a DID with witnesses refuse a log with an entry that too few witnesses have approved.
  So the service publishes the log as far as it was approved.

  Background:
    Given a machine with a service that publishes logs of did:webvh
    And Wendy and Walt are witnesses
    And Hana has a DID of which one of Wendy and Walt must approve

  Scenario: A version goes out when a witness has approved of it
    Then there is no log at the place of the DID
    When Wendy approves of the log and the operator publishes that
    Then a reader finds 1 version at the place of the DID
    When Hana adds a service to the DID
    Then a reader finds 1 version at the place of the DID
    When Walt approves of the log and the operator publishes that
    Then a reader finds 2 versions at the place of the DID

  Scenario: Witnesses approve of those who take their place
    Given Wendy approves of the log and the operator publishes that
    And Will is a witness
    When Hana replaces Wendy and Walt by Will
    Then a reader finds 1 version at the place of the DID
    When Will approves of the log and the operator publishes that
    Then the command refuses: "Nothing in the file approves of anything new"
    And a reader finds 1 version at the place of the DID
    When Walt approves of the log and the operator publishes that
    Then a reader finds 2 versions at the place of the DID
    When Hana adds a service to the DID
    And Wendy approves of the log and the operator publishes that
    Then a reader finds 2 versions at the place of the DID
    When Will approves of the log and the operator publishes that
    Then a reader finds 3 versions at the place of the DID

  Scenario: What no witness of the DID has approved is not published
    When Eve approves of the log and the operator publishes that
    Then the command refuses: "Nothing in the file approves of anything new"
    And there is no log at the place of the DID
