@getCredentialStats
Feature: Count the credentials of an issuer

  Scenario: An issuer counts its credentials
    Given Ivo has issued three credentials, of which one is revoked and one is suspended
    And Ivo has issued a credential that ends in ten days
    When Ivo counts the credentials of Ivo
    Then the answer is 200
    And the answer must not be cached
    And 2 are valid, 1 suspended, 1 revoked and 1 end soon

  Scenario: An issuer without credentials
    Given Ivo has a DID
    When Ivo counts the credentials of Ivo
    Then there are no credentials and no status list

  @403:FORBIDDEN
  Scenario: A stranger does not count the credentials of an issuer
    Given Ivo has a DID
    And Mallory has a DID
    When Mallory counts the credentials of Ivo
    Then the answer is 403 FORBIDDEN

  @400:INVALID_DID
  Scenario: An issuer is named by its DID
    Given Ivo has a DID
    When Ivo counts the credentials of shop.example
    Then the answer is 400 INVALID_DID
