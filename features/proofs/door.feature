@generateDelegatedProof
Feature: The door of delegated proofs is that of every operation

  @400:INVALID_REQUEST
  Scenario: A parameter that the document does not have
    Given a good request for generateDelegatedProof
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

  @400:AUTH_AMBIGUOUS
  Scenario: Two different credentials
    Given a good request for generateDelegatedProof
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

  @401:AUTH_REQUIRED
  Scenario: No credential
    Given a good request for generateDelegatedProof
    When it is sent without a credential
    Then the answer is 401 AUTH_REQUIRED

  @401:AUTH_FAILED
  Scenario: A credential that nobody gave out
    Given a good request for generateDelegatedProof
    When it is sent with a credential of somebody else's making
    Then the answer is 401 AUTH_FAILED

  @405:METHOD_NOT_ALLOWED
  Scenario: Another method
    Given a good request for generateDelegatedProof
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED
    And the path allows the methods of generateDelegatedProof

  @413:PAYLOAD_TOO_LARGE
  Scenario: A body of more than 64 KiB
    Given a good request for generateDelegatedProof
    When it is sent with a body of a megabyte
    Then the answer is 413 PAYLOAD_TOO_LARGE

  @415:UNSUPPORTED_MEDIA_TYPE
  Scenario: A body that is not JSON
    Given a good request for generateDelegatedProof
    When it is sent as plain text
    Then the answer is 415 UNSUPPORTED_MEDIA_TYPE

  @429:RATE_LIMITED
  Scenario: An empty bucket
    Given a service that gives an address one request
    And a good request for generateDelegatedProof
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

  @431:HEADERS_TOO_LARGE
  Scenario: Headers that are too large
    Given a good request for generateDelegatedProof
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

  @500:INTERNAL_ERROR
  Scenario: A fault of ours
    Given a service whose core breaks
    And a good request for generateDelegatedProof
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

  @503:OVERLOADED
  Scenario: More requests than the server takes on
    Given a service that takes one request at a time
    And a good request for generateDelegatedProof
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

  @503:PLUGIN_UNAVAILABLE
  Scenario: A prover that raises
    Given a service whose prover raises
    And a good request for generateDelegatedProof
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

  @504:PLUGIN_TIMEOUT
  Scenario: A prover that hangs
    Given a service whose prover hangs
    And a good request for generateDelegatedProof
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

  @503:DID_QUARANTINED
  Scenario Outline: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by somebody else
    And a good request for <operation>
    When it is sent under the signature of a DID whose index was changed
    Then the answer is 503 DID_QUARANTINED

    Examples:
      | operation              |
      | generateDelegatedProof |
      | verifyProof            |
      | getProof               |
      | verifyStoredProof      |
      | revokeProof            |
