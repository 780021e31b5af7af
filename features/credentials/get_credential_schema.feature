Feature: Get a credential schema

  @getCredentialSchema
  Scenario: Everybody reads it
    When Vera reads the schema
    Then the answer is 200

  @getCredentialSchema @404:SCHEMA_NOT_FOUND
  Scenario: A schema that there is not
    When Vera reads an unregistered schema
    Then the answer is 404 SCHEMA_NOT_FOUND
