Feature: What holds for every operation of OAuth
  Challenges for tokens, refusals before the operation is called, and faults that no client causes.

  @getDidAuthChallenge
  Scenario: A challenge that the signature names is given to no other client
    Given Hana has a DID
    When Hana asks for two challenges that she will name and signs for a token with the second
    Then the answer is 200

  @getDidAuthChallenge
  Scenario: A challenge for one request serves for that request
    Given Hana has a DID
    When Hana signs for a token with a challenge for the target /api/v1/auth/token
    Then the answer is 200

  @getDidAuthChallenge
  Scenario: A challenge for one request serves for no other
    Given Hana has a DID
    When Hana signs for a token with a challenge for the target /auth/token?scope=dids:list
    Then the answer is 401 AUTH_FAILED

  @400:INVALID_REQUEST
  Scenario Outline: A parameter that the document does not have is refused
    Given a good request for <operation>
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation  |
      | issueToken |
      | getJwks    |

  @400:AUTH_AMBIGUOUS
  Scenario Outline: Two different credentials are refused, also where none is needed
    Given a good request for <operation>
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

    Examples:
      | operation  |
      | issueToken |
      | getJwks    |

  @401:AUTH_REQUIRED
  Scenario Outline: An operation that needs a credential says so
    Given a good request for <operation>
    When it is sent without a credential
    Then the answer is 401 AUTH_REQUIRED

    Examples:
      | operation  |
      | issueToken |

  @401:AUTH_FAILED
  Scenario Outline: A forged authorization is refused
    Given a good request for <operation>
    When it is sent with a forged authorization
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation  |
      | issueToken |

  @405:METHOD_NOT_ALLOWED
  Scenario Outline: A method that the path does not have is refused
    Given a good request for <operation>
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED

    Examples:
      | operation  |
      | issueToken |
      | getJwks    |

  @413:PAYLOAD_TOO_LARGE
  Scenario Outline: A body that is too large is not read
    Given a good request for <operation>
    When it is sent with a body of a megabyte
    Then the answer is 413 PAYLOAD_TOO_LARGE

    Examples:
      | operation  |
      | issueToken |

  @415:UNSUPPORTED_MEDIA_TYPE
  Scenario Outline: A body that is not JSON is refused
    Given a good request for <operation>
    When it is sent as plain text
    Then the answer is 415 UNSUPPORTED_MEDIA_TYPE

    Examples:
      | operation  |
      | issueToken |

  @429:RATE_LIMITED
  Scenario Outline: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for <operation>
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

    Examples:
      | operation  |
      | issueToken |
      | getJwks    |

  @431:HEADERS_TOO_LARGE
  Scenario Outline: Headers that are too large are refused
    Given a good request for <operation>
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

    Examples:
      | operation  |
      | issueToken |
      | getJwks    |

  @500:INTERNAL_ERROR
  Scenario Outline: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

    Examples:
      | operation  |
      | issueToken |
      | getJwks    |

  @503:OVERLOADED
  Scenario Outline: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for <operation>
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

    Examples:
      | operation  |
      | issueToken |
      | getJwks    |

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: A plugin that raises costs its own requests
    Given a service whose plugins raise
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation  |
      | issueToken |

  @504:PLUGIN_TIMEOUT
  Scenario Outline: A plugin that hangs is given up at its deadline
    Given a service whose plugins hang
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

    Examples:
      | operation  |
      | issueToken |

  @503:STORAGE_MISMATCH
  Scenario Outline: Nothing is changed or signed over a ledger that is older than it was
    Given a service whose ledger was rolled back
    And a good request for <operation>
    When the service has noticed and it is sent
    Then the answer is 503 STORAGE_MISMATCH

    Examples:
      | operation  |
      | issueToken |
