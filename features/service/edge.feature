Feature: The door is the same for every operation
  Whatever is wrong with a request before anybody looks at what it asks for, the answer is one of a few, in one shape.

  @400:INVALID_REQUEST
  Scenario Outline: A parameter that the document does not have is refused
    Given a good request for <operation>
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | listEvents          |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |
      | getHealth           |
      | getReadiness        |
      | getVersion          |

  @400:AUTH_AMBIGUOUS
  Scenario Outline: Two different credentials are refused, also where none is needed
    Given a good request for <operation>
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | listEvents          |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |
      | getHealth           |
      | getReadiness        |
      | getVersion          |

  @401:AUTH_REQUIRED
  Scenario Outline: An operation that needs a credential says so
    Given a good request for <operation>
    When it is sent without a credential
    Then the answer is 401 AUTH_REQUIRED

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |

  @401:AUTH_FAILED
  Scenario Outline: A forged authorization is refused
    Given a good request for <operation>
    When it is sent with a forged authorization
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |

  @405:METHOD_NOT_ALLOWED
  Scenario Outline: A method that the path does not have is refused
    Given a good request for <operation>
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | listEvents          |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |
      | getHealth           |
      | getReadiness        |
      | getVersion          |

  @413:PAYLOAD_TOO_LARGE
  Scenario Outline: A body that is too large is not read
    Given a good request for <operation>
    When it is sent with a body of a megabyte
    Then the answer is 413 PAYLOAD_TOO_LARGE

    Examples:
      | operation           |
      | createDid           |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | approveDidVersion   |
      | createApiKey        |
      | updateApiKey        |
      | rotateApiKey        |

  @415:UNSUPPORTED_MEDIA_TYPE
  Scenario Outline: A body that is not JSON is refused
    Given a good request for <operation>
    When it is sent as plain text
    Then the answer is 415 UNSUPPORTED_MEDIA_TYPE

    Examples:
      | operation           |
      | createDid           |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | approveDidVersion   |
      | createApiKey        |
      | updateApiKey        |
      | rotateApiKey        |

  @422:IDEMPOTENCY_MISMATCH
  Scenario Outline: An Idempotency-Key belongs to one request
    Given a good request for <operation>
    When its Idempotency-Key is used again for another body
    Then the answer is 422 IDEMPOTENCY_MISMATCH

    Examples:
      | operation           |
      | createDid           |
      | updateDid           |
      | rotateDidKey        |
      | recoverDid          |
      | createApiKey        |
      | updateApiKey        |
      | rotateApiKey        |

  @429:RATE_LIMITED
  Scenario Outline: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for <operation>
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | listEvents          |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |
      | getHealth           |
      | getReadiness        |
      | getVersion          |

  @431:HEADERS_TOO_LARGE
  Scenario Outline: Headers that are too large are refused
    Given a good request for <operation>
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

    Examples:
      | operation           |
      | createDid           |
      | listDids            |
      | resolveDid          |
      | updateDid           |
      | deactivateDid       |
      | rotateDidKey        |
      | recoverDid          |
      | listDidHistory      |
      | getDidLog           |
      | getDidApprovals     |
      | approveDidVersion   |
      | listEvents          |
      | getDidAuthChallenge |
      | createApiKey        |
      | listApiKeys         |
      | getApiKey           |
      | updateApiKey        |
      | rotateApiKey        |
      | revokeApiKey        |
      | getHealth           |
      | getReadiness        |
      | getVersion          |
