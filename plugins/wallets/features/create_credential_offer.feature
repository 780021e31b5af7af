@createCredentialOffer
Feature: Offer a credential to a wallet

  Scenario: A wallet collects what it was offered
    Given Ina has issued a credential for wallets to Hana
    When Ina offers it to a wallet
    Then the answer is 201
    And the wallet collects it once
    And the wallet can show that the age is at least 18 and not what it is

  Scenario: With a code that the holder types in
    Given Ina has issued a credential for wallets to Hana
    When Ina offers it to a wallet with a transaction code
    Then the answer is 201
    And the wallet gets nothing without the transaction code
    And the wallet collects it once

  @403:FORBIDDEN
  Scenario: A holder offers nothing in the issuer's name
    Given Ina has issued a credential for wallets to Hana
    When Hana offers it to a wallet
    Then the answer is 403 FORBIDDEN

  @404:CREDENTIAL_NOT_FOUND
  Scenario: A stranger does not learn of it
    Given Ina has issued a credential for wallets to Hana
    When Mallory offers it to a wallet
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @410:CREDENTIAL_REVOKED
  Scenario: What is revoked is not offered
    Given Ina has issued a credential for wallets to Hana
    And Ina has revoked the credential
    When Ina offers it to a wallet
    Then the answer is 410 CREDENTIAL_REVOKED

  @410:CREDENTIAL_EXPIRED
  Scenario: What is not valid yet is not offered
    Given Ina has issued a credential for wallets to Hana that is valid from tomorrow on
    When Ina offers it to a wallet
    Then the answer is 410 CREDENTIAL_EXPIRED

  @422:INVALID_CREDENTIAL
  Scenario: An issuer without a key on P-256
    Given Ivo has issued a credential to Hana
    When Ivo offers it to a wallet
    Then the answer is 422 INVALID_CREDENTIAL
