Feature: The door of the ledger is that of every operation
  Everybody may read it; whatever else goes wrong is answered as everywhere.

  @400:INVALID_REQUEST
  Scenario Outline: A parameter that the document does not have is refused
    Given a good request for <operation>
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerKey              |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @400:AUTH_AMBIGUOUS
  Scenario Outline: Two different credentials are refused, though none is needed
    Given a good request for <operation>
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerKey              |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @405:METHOD_NOT_ALLOWED
  Scenario Outline: The ledger cannot be written here
    Given a good request for <operation>
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerKey              |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @429:RATE_LIMITED
  Scenario Outline: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for <operation>
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerKey              |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @431:HEADERS_TOO_LARGE
  Scenario Outline: Headers that are too large are refused
    Given a good request for <operation>
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerKey              |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @500:INTERNAL_ERROR
  Scenario Outline: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerKey              |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @500:BLOCKCHAIN_ERROR
  Scenario Outline: A ledger that cannot be read says so
    Given a service whose ledger raises
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 BLOCKCHAIN_ERROR

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @503:OVERLOADED
  Scenario Outline: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for <operation>
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerKey              |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: Nothing is signed without the custodian
    Given a service whose custodian raises
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation               |
      | getLedgerCheckpoint     |
      | getLedgerInclusionProof |
      | getStatusGapsProof      |

  @504:PLUGIN_TIMEOUT
  Scenario Outline: A ledger that hangs is given up at its deadline
    Given a service whose plugins hang
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

    Examples:
      | operation                 |
      | getLedgerTransaction      |
      | getLedgerBlock            |
      | getLedgerCheckpoint       |
      | getLedgerTile             |
      | getLedgerInclusionProof   |
      | getLedgerConsistencyProof |
