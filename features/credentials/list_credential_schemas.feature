Feature: List credential schemas

  @listCredentialSchemas
  Scenario: Everybody lists schemas
    When Vera reads the schemas one by one
    Then the answer is 200
    And the pages do not overlap
