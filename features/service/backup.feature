Feature: A machine that has lost its disk comes back from a backup
  What was acknowledged before the backup is there again. What came after it is lost, and that is said. A log that others have seen
  further than the backup does not go on under its name: it would have two histories.

  Background:
    Given a machine with a service
    And the operator has a DID "before" registered
    And the operator backs it up while it runs
    And the operator has a DID "after" registered
    And a monitor keeps a checkpoint of the log
    And the machine loses its disk

  Scenario: A restore asks how far the log was
    When the operator restores the backup
    Then the command refuses: "nothing says how far the log was"

  Scenario: A log that is behind is signed no further under its name
    When the operator restores the backup with the checkpoint of the monitor
    Then 1 ledger entry is said to be lost
    And the service does not start: "1 are lost"
    When the operator accepts the rollback
    Then the command refuses: "is a fork"

  Scenario: The log continues under another name
    When the operator restores the backup with the checkpoint of the monitor
    And the operator accepts the rollback under the name "again.example/log"
    And the service is started again
    Then the DID "before" is resolved
    And the DID "after" is not found
    And the log is called "again.example/log"
