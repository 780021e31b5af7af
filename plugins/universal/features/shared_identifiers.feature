Feature: Resolvers are asked like everything else
  What is wrong with a request before anybody looks for a DID, and what no client can cause.

  @400:INVALID_REQUEST
  Scenario Outline: A parameter that the document does not have is refused
    Given a good request for <operation>
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation               |
      | resolveIdentifier       |
      | resolveIdentifierWithOptions |
      | listDidMethods          |
      | listDidMethodProperties |
      | listTestIdentifiers     |
      | listDidTraits           |

  @400:AUTH_AMBIGUOUS
  Scenario Outline: Two different credentials are refused, also where none is needed
    Given a good request for <operation>
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

    Examples:
      | operation               |
      | resolveIdentifier       |
      | resolveIdentifierWithOptions |
      | listDidMethods          |
      | listDidMethodProperties |
      | listTestIdentifiers     |
      | listDidTraits           |

  @405:METHOD_NOT_ALLOWED
  Scenario Outline: A method that the path does not have is refused
    Given a good request for <operation>
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED

    Examples:
      | operation               |
      | resolveIdentifier       |
      | resolveIdentifierWithOptions |
      | listDidMethods          |
      | listDidMethodProperties |
      | listTestIdentifiers     |
      | listDidTraits           |

  @429:RATE_LIMITED
  Scenario Outline: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for <operation>
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

    Examples:
      | operation               |
      | resolveIdentifier       |
      | resolveIdentifierWithOptions |
      | listDidMethods          |
      | listDidMethodProperties |
      | listTestIdentifiers     |
      | listDidTraits           |

  @431:HEADERS_TOO_LARGE
  Scenario Outline: Headers that are too large are refused
    Given a good request for <operation>
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

    Examples:
      | operation               |
      | resolveIdentifier       |
      | resolveIdentifierWithOptions |
      | listDidMethods          |
      | listDidMethodProperties |
      | listTestIdentifiers     |
      | listDidTraits           |

  @500:INTERNAL_ERROR
  Scenario Outline: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

    Examples:
      | operation               |
      | resolveIdentifier       |
      | resolveIdentifierWithOptions |
      | listDidMethods          |
      | listDidMethodProperties |
      | listTestIdentifiers     |
      | listDidTraits           |

  @503:OVERLOADED
  Scenario Outline: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for <operation>
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

    Examples:
      | operation               |
      | resolveIdentifier       |
      | resolveIdentifierWithOptions |
      | listDidMethods          |
      | listDidMethodProperties |
      | listTestIdentifiers     |
      | listDidTraits           |

  @503:PLUGIN_UNAVAILABLE
  Scenario: A plugin that raises costs its own requests
    Given a service whose plugins raise
    And a good request for resolveIdentifier
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

  @503:DID_QUARANTINED
  Scenario: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for resolveIdentifier
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED
