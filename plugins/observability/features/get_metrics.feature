@getMetrics
Feature: Measurements for Prometheus

  Scenario: Measurements are for those who hold a key
    Given Olu has an API key that may only read the state of the service
    When Olu sends getMetrics with it
    Then the answer is 200

  @403:FORBIDDEN
  Scenario: A key without the scope reads no measurements
    Given Olu has an API key that may only list DIDs
    When Olu sends getMetrics with it
    Then the answer is 403 FORBIDDEN
