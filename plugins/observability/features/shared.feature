Feature: Measurements answer a bad request like every operation
  Whatever is wrong with a request, and what no client can cause.

  @400:INVALID_REQUEST
  Scenario: A parameter that the document does not have is refused
    Given a good request for getMetrics
    When it is sent with a parameter that the document does not have
    Then the answer is 400 INVALID_REQUEST

  @400:AUTH_AMBIGUOUS
  Scenario: Two different credentials are refused, also where none is needed
    Given a good request for getMetrics
    When it is sent with two different credentials
    Then the answer is 400 AUTH_AMBIGUOUS

  @401:AUTH_REQUIRED
  Scenario: An operation that needs a credential says so
    Given a good request for getMetrics
    When it is sent without a credential
    Then the answer is 401 AUTH_REQUIRED

  @401:AUTH_FAILED
  Scenario: A forged authorization is refused
    Given a good request for getMetrics
    When it is sent with a forged authorization
    Then the answer is 401 AUTH_FAILED

  @405:METHOD_NOT_ALLOWED
  Scenario: A method that the path does not have is refused
    Given a good request for getMetrics
    When it is sent with a method that the path does not have
    Then the answer is 405 METHOD_NOT_ALLOWED

  @429:RATE_LIMITED
  Scenario: An empty bucket says when to come again
    Given a service that gives an address one request
    And a good request for getMetrics
    When it is sent twice from one address
    Then the answer is 429 RATE_LIMITED

  @431:HEADERS_TOO_LARGE
  Scenario: Headers that are too large are refused
    Given a good request for getMetrics
    When it is sent with headers of 100 kilobytes
    Then the answer is 431 HEADERS_TOO_LARGE

  @500:INTERNAL_ERROR
  Scenario: A fault of ours has a request id and no details
    Given a service whose core breaks
    And a good request for getMetrics
    When the fault strikes and it is sent
    Then the answer is 500 INTERNAL_ERROR

  @503:OVERLOADED
  Scenario: More requests than the server takes on are turned away
    Given a service that takes one request at a time
    And a good request for getMetrics
    When it is sent while another is being answered
    Then the answer is 503 OVERLOADED

  @503:PLUGIN_UNAVAILABLE
  Scenario: A plugin that raises costs its own requests
    Given a service whose plugins raise
    And a good request for getMetrics
    When the fault strikes and it is sent
    Then the answer is 503 PLUGIN_UNAVAILABLE

  @504:PLUGIN_TIMEOUT
  Scenario: A plugin that hangs is given up at its deadline
    Given a service whose plugins hang
    And a good request for getMetrics
    When the fault strikes and it is sent
    Then the answer is 504 PLUGIN_TIMEOUT
