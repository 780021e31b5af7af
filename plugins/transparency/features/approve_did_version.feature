@approveDidVersion
Feature: Approve a version as a witness
  The proof is the credential: the client that sends it need not be trusted.

  Scenario: A version goes out when its witness has approved of it
    Given Hana has a DID of which Wendy must approve
    When anybody asks what waits
    Then 0 of 1 versions are published
    When Wendy approves of the newest version of the DID
    Then the answer is 200
    And 1 of 1 version is published

  Scenario: The same again changes nothing
    Given Hana has a DID of which Wendy must approve
    And Wendy has approved of the newest version of the DID
    When Wendy approves of it again
    Then the answer is 200
    And 1 of 1 version is published

  @401:AUTH_FAILED
  Scenario: A proof that is not good
    Given Hana has a DID of which Wendy must approve
    When a client changes the signature of Wendy
    Then the answer is 401 AUTH_FAILED

  @403:FORBIDDEN
  Scenario: A witness that the DID does not name
    Given Hana has a DID of which Wendy must approve
    When Eve approves of the newest version of the DID
    Then the answer is 403 FORBIDDEN

  @404:DID_NOT_FOUND
  Scenario: A version that there is not
    Given Hana has a DID of which Wendy must approve
    When Wendy approves of a version that there is not
    Then the answer is 404 DID_NOT_FOUND

  @422:INVALID_DOCUMENT
  Scenario: A DID that has no witnesses
    When Wendy sends an approval for the DID of Vera, who has no witnesses
    Then the answer is 422 INVALID_DOCUMENT
