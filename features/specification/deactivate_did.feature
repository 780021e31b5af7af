@deactivateDid
Feature: The specification, deactivation of a DID

  Scenario: The answer, and every later request
    Given a new DID with {"recoveryKey": true}
    And a header that the controller signed before
    When DELETE /dids/$did is sent by the controller with {"confirm": true, "reason": "it is over"}
    Then the response status is 200
    And the answer has exactly the members did, deactivated, transactionHash, blockNumber
    And "did" is $did
    And "deactivated" is true
    And "blockNumber" is an integer
    And the transaction of the answer is on the ledger
    And every later request for the DID is refused with 410 DID_DEACTIVATED

  Scenario Outline: Confirmation
    Given a new DID
    When DELETE /dids/$did is sent by the controller with <body>
    Then the refusal is <status>

    Examples:
      | body                                | status |
      | {"confirm": false, "reason": "no"}  | 422    |
      | {"reason": "no"}                    | 400    |
      | {"confirm": "true", "reason": "no"} | 400    |

  Scenario Outline: Without the signature
    Given a new DID
    When DELETE /dids/$did is sent by <who> with {"confirm": true, "reason": "it is over"}
    Then the refusal is 401 <code>

    Examples:
      | who          | code          |
      | nobody       | AUTH_REQUIRED |
      | the operator | AUTH_REQUIRED |
      | another key  | AUTH_FAILED   |
