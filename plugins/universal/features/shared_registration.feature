Feature: Registrars are asked like everything else
  What is wrong with a request before anybody looks at what it asks for, and what no client can cause.

  @400:INVALID_REQUEST
  Scenario Outline: A parameter that the document does not have is refused
    Given a good request for <operation>
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @400:AUTH_AMBIGUOUS
  Scenario Outline: Two different credentials are refused, also where none is needed
    Given a good request for <operation>
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @401:AUTH_REQUIRED
  Scenario Outline: An operation that needs a credential says so
    Given a good request for <operation>
    When it is sent without a credential
    Then the answer is 401 AUTH_REQUIRED

    Examples:
      | operation               |
      | registerDid             |

  @401:AUTH_FAILED
  Scenario Outline: A forged authorization is refused
    Given a good request for <operation>
    When it is sent with a forged authorization
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation               |
      | registerDid             |

  @405:METHOD_NOT_ALLOWED
  Scenario Outline: A method that the path does not have is refused
    Given a good request for <operation>
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @413:PAYLOAD_TOO_LARGE
  Scenario Outline: A body that is too large is not read
    Given a good request for <operation>
    When it is sent with a body of a megabyte
    Then the answer is 413 PAYLOAD_TOO_LARGE

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @415:UNSUPPORTED_MEDIA_TYPE
  Scenario Outline: A body that is not JSON is refused
    Given a good request for <operation>
    When it is sent as plain text
    Then the answer is 415 UNSUPPORTED_MEDIA_TYPE

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @422:IDEMPOTENCY_MISMATCH
  Scenario Outline: An Idempotency-Key belongs to one request
    Given a good request for <operation>
    When its Idempotency-Key is used again for another body
    Then the answer is 422 IDEMPOTENCY_MISMATCH

    Examples:
      | operation               |
      | registerDid             |

  @409:REQUEST_IN_PROGRESS
  Scenario Outline: The second comes while the first is being answered
    Given a service whose answers take a while
    When <operation> is sent again while the first is being answered
    Then the answer is 409 REQUEST_IN_PROGRESS

    Examples:
      | operation               |
      | registerDid             |

  @429:RATE_LIMITED
  Scenario Outline: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for <operation>
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @431:HEADERS_TOO_LARGE
  Scenario Outline: Headers that are too large are refused
    Given a good request for <operation>
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @500:INTERNAL_ERROR
  Scenario Outline: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @500:BLOCKCHAIN_ERROR
  Scenario Outline: A ledger that fails changes nothing
    Given a service whose ledger raises
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 BLOCKCHAIN_ERROR

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @503:OVERLOADED
  Scenario Outline: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for <operation>
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: A plugin that raises costs its own requests
    Given a service whose plugins raise
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @504:PLUGIN_TIMEOUT
  Scenario Outline: A plugin that hangs is given up at its deadline
    Given a service whose plugins hang
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @503:DID_QUARANTINED
  Scenario Outline: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @503:STORAGE_MISMATCH
  Scenario Outline: Nothing is changed or signed over a ledger that is older than it was
    Given a service whose ledger was rolled back
    And a good request for <operation>
    When the service has noticed and it is sent
    Then the answer is 503 STORAGE_MISMATCH

    Examples:
      | operation               |
      | registerDid             |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @429:QUOTA_EXCEEDED
  Scenario Outline: Who has written as much as he may comes again tomorrow
    Given a service that lets a DID write a little a day
    And a good request for <operation>
    When it is sent by a DID that has written as much as it may
    Then the answer is 429 QUOTA_EXCEEDED

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @400:INVALID_DID
  Scenario Outline: A text that is no DID
    When a registrar begins <operation> for the DID did:ids:short
    Then the answer is 400 INVALID_DID

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @404:DID_NOT_FOUND
  Scenario Outline: An unregistered DID
    When a registrar begins <operation> for an unregistered DID
    Then the answer is 404 DID_NOT_FOUND

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @410:DID_DEACTIVATED
  Scenario Outline: A DID that was ended
    Given Hana has a DID
    And Hana has deactivated the DID
    When a registrar begins <operation> for the DID of Hana
    Then the answer is 410 DID_DEACTIVATED

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @401:AUTH_FAILED
  Scenario Outline: A job that another DID has signed is refused
    Given Hana has a DID
    When Mallory signs the job of <operation> for the DID of Hana
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @403:FORBIDDEN
  Scenario Outline: A key in grace may not remove keys or end a DID
    Given Hana has a DID
    And Hana has rotated the key with a day of grace
    When Hana signs the job of <operation> that takes a key away with the old key
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @422:INVALID_DOCUMENT
  Scenario Outline: A did:key cannot change
    Given Hana has registered a did:key of her own
    When Hana does <operation> as a registrar does
    Then the answer is 422 INVALID_DOCUMENT

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |
