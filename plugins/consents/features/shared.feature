Feature: Requests are served as everything else
  Refusals before the operation is called, and faults that no client causes.

  @403:FORBIDDEN
  Scenario Outline: A key that may do something else
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation             |
      | createVerifierRequest |
      | listVerifierRequests  |
      | cancelVerifierRequest |

  @answerVerifierRequest @503:PLUGIN_UNAVAILABLE
  Scenario: A prover that raises costs the answer
    Given a service whose prover raises
    And a good request for answerVerifierRequest
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

  @answerVerifierRequest @504:PLUGIN_TIMEOUT
  Scenario: A prover that hangs is given up at its deadline
    Given a service whose prover hangs
    And a good request for answerVerifierRequest
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

  @404:REQUEST_NOT_FOUND
  Scenario Outline: An id that leads nowhere
    Given Mallory has a DID
    When Mallory sends <operation> for a request that does not exist
    Then the answer is 404 REQUEST_NOT_FOUND

    Examples:
      | operation             |
      | getConsentRequest     |
      | getVerifierRequest    |
      | cancelVerifierRequest |

  @409:REQUEST_IN_PROGRESS
  Scenario Outline: The second comes while the first is being answered
    Given a service whose answers take a while
    When <operation> is sent again while the first is being answered
    Then the answer is 409 REQUEST_IN_PROGRESS

    Examples:
      | operation             |
      | createConsentRequest  |
      | createVerifierRequest |
