Feature: Versions of the service and of this document

  Scenario: Anybody may ask
    Given a good request for getVersion
    When it is sent
    Then the answer is 200

  Scenario: Two builds of one version can be told apart
    Given a good request for getVersion
    When it is sent
    Then the answer is 200
    And the answer tells the build
