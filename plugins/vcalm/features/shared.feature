Feature: The door of VCALM is that of every operation
  Whatever is wrong before anybody looks at a credential, and whatever breaks that no client can cause.

  @400:INVALID_REQUEST
  Scenario Outline: A parameter that the document does not have is refused
    Given a good request for <operation>
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |
      | createVcalmChallenge    |

  @400:AUTH_AMBIGUOUS
  Scenario Outline: Two different credentials are refused
    Given a good request for <operation>
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |
      | createVcalmChallenge    |

  @405:METHOD_NOT_ALLOWED
  Scenario Outline: A method that the path does not have is refused
    Given a good request for <operation>
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |
      | createVcalmChallenge    |

  @413:PAYLOAD_TOO_LARGE
  Scenario Outline: A body that is too large is not read
    Given a good request for <operation>
    When it is sent with a body of a megabyte
    Then the answer is 413 PAYLOAD_TOO_LARGE

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |

  @415:UNSUPPORTED_MEDIA_TYPE
  Scenario Outline: A body that is not JSON is refused
    Given a good request for <operation>
    When it is sent as plain text
    Then the answer is 415 UNSUPPORTED_MEDIA_TYPE

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |

  @429:RATE_LIMITED
  Scenario Outline: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for <operation>
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |
      | createVcalmChallenge    |

  @431:HEADERS_TOO_LARGE
  Scenario Outline: Headers that are too large are refused
    Given a good request for <operation>
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |
      | createVcalmChallenge    |

  @500:INTERNAL_ERROR
  Scenario Outline: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |
      | createVcalmChallenge    |

  @503:OVERLOADED
  Scenario Outline: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for <operation>
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |
      | createVcalmChallenge    |

  @503:PLUGIN_UNAVAILABLE
  Scenario Outline: A format that breaks says nothing about a credential
    Given a service whose plugins raise
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |

  @504:PLUGIN_TIMEOUT
  Scenario Outline: A format that hangs is given up at its deadline
    Given a service whose plugins hang
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT

    Examples:
      | operation               |
      | verifyVcalmCredential   |
      | verifyVcalmPresentation |

  @503:DID_QUARANTINED
  Scenario: What is stored about a holder and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for verifyVcalmPresentation
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED
