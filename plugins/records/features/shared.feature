Feature: Records are read as everything else
  What is wrong before a row is read, and what breaks that no client can cause.

  @400:INVALID_REQUEST
  Scenario Outline: A parameter that the document does not have is refused
    Given a good request for <operation>
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @400:AUTH_AMBIGUOUS
  Scenario Outline: Two different credentials are refused
    Given a good request for <operation>
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @401:AUTH_REQUIRED
  Scenario Outline: An operation that needs a credential says so
    Given a good request for <operation>
    When it is sent without a credential
    Then the answer is 401 AUTH_REQUIRED

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @401:AUTH_FAILED
  Scenario Outline: A forged authorization is refused
    Given a good request for <operation>
    When it is sent with a forged authorization
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @403:FORBIDDEN
  Scenario Outline: A key that may do something else
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | suspendDelegations      |
      | getCredentialStats      |

  @404:DID_NOT_FOUND
  Scenario Outline: A signature of an unregistered DID
    Given a good request for <operation>
    When it is sent under the signature of an unregistered DID
    Then the answer is 404 DID_NOT_FOUND

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @405:METHOD_NOT_ALLOWED
  Scenario Outline: A method that the path does not have is refused
    Given a good request for <operation>
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED
    And the path allows the methods of <operation>

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @410:DID_DEACTIVATED
  Scenario Outline: A signature of a DID that is deactivated
    Given a good request for <operation>
    When it is sent under the signature of a DID that is deactivated
    Then the answer is 410 DID_DEACTIVATED

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @429:RATE_LIMITED
  Scenario Outline: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for <operation>
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @431:HEADERS_TOO_LARGE
  Scenario Outline: Headers that are too large are refused
    Given a good request for <operation>
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @500:INTERNAL_ERROR
  Scenario Outline: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @503:OVERLOADED
  Scenario Outline: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for <operation>
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: A plugin that raises costs its own requests
    Given a service whose plugins raise
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | suspendDelegations      |
      | getCredentialStats      |

  @504:PLUGIN_TIMEOUT
  Scenario Outline: A plugin that hangs is given up at its deadline
    Given a service whose plugins hang
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listAuditLines          |
      | suspendDelegations      |
      | getCredentialStats      |

  @503:DID_QUARANTINED
  Scenario Outline: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for <operation>
    When it is sent under the signature of a DID whose index was changed
    Then the answer is 503 DID_QUARANTINED

    Examples:
      | operation               |
      | listVerificationHistory |
      | getVerificationStats    |
      | getDashboardTimeline    |
      | listLabels              |
      | setLabel                |
      | deleteLabel             |
      | suspendDelegations      |
      | describeDids            |
      | getCredentialStats      |

  @400:INVALID_REQUEST
  Scenario Outline: A question that is none
    When Olu sends <operation> with the query <query>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation               | query          |
      | listVerificationHistory | from=yesterday |
      | listVerificationHistory | cursor=AAAA    |
      | listVerificationHistory | limit=0        |
      | listVerificationHistory | verified=maybe |
      | getVerificationStats    | to=2026-01-01  |

  @413:PAYLOAD_TOO_LARGE
  Scenario Outline: A body of a megabyte is refused
    Given a good request for <operation>
    When it is sent with a body of a megabyte
    Then the answer is 413 PAYLOAD_TOO_LARGE

    Examples:
      | operation          |
      | setLabel           |
      | suspendDelegations |
      | describeDids       |

  @415:UNSUPPORTED_MEDIA_TYPE
  Scenario Outline: A body that is no JSON is refused
    Given a good request for <operation>
    When it is sent as plain text
    Then the answer is 415 UNSUPPORTED_MEDIA_TYPE

    Examples:
      | operation          |
      | setLabel           |
      | suspendDelegations |
      | describeDids       |

  @400:INVALID_DID
  Scenario Outline: A nickname is for a DID
    When Hana sends <operation> for what is no DID
    Then the answer is 400 INVALID_DID

    Examples:
      | operation   |
      | setLabel    |
      | deleteLabel |
