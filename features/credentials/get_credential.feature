Feature: Get a credential

  # Reading

  @getCredential
  Scenario Outline: Holder and issuer see what it says, and the signature is the holder's
    Given Ivo has issued a credential to Hana
    When <name> reads the credential
    Then the answer is 200
    And the credential says what was asked for
    And the signature <is> in it
    And the answer must not be cached

    Examples:
      | name | is     |
      | Hana | is     |
      | Ivo  | is not |

  @getCredential
  Scenario Outline: What a bound credential's signature covers is the holder's alone as well
    Given Ivo has issued a bound credential to Hana
    When <name> reads the credential
    Then the answer is 200
    And the credential is one of suite 2 that Ivo's header names
    And the signature <is> in it
    And the holder's commitment <is> in it

    Examples:
      | name | is     |
      | Hana | is     |
      | Ivo  | is not |

  @getCredential
  Scenario: An operator for this holder sees everything but the signature
    Given Ivo has issued a credential to Hana
    And Olu has an API key for the DID of Hana
    When Olu reads the credential with the key
    Then the answer is 200
    And the credential says what was asked for
    And the signature is not in it

  @getCredential
  Scenario: An operator for anybody sees no values
    Given Ivo has issued a credential to Hana
    And Olu has an API key for anybody
    When Olu reads the credential with the key
    Then the answer is 200
    And the record is there and the values are not

  @getCredential
  Scenario: An agent of the holder sees that it is there
    Given Ivo has issued a credential to Hana
    And Hana lets Aki act at level 1
    When Aki reads the credential
    Then the answer is 200
    And the record is there and the values are not

  @getCredential @404:CREDENTIAL_NOT_FOUND
  Scenario: An agent without autonomy sees nothing
    Given Ivo has issued a credential to Hana
    And Hana lets Aki act at level 0
    When Aki reads the credential
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @getCredential @404:CREDENTIAL_NOT_FOUND
  Scenario: A stranger sees nothing
    Given Ivo has issued a credential to Hana
    When Mallory reads the credential
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @getCredential @404:CREDENTIAL_NOT_FOUND
  Scenario: An operator for another holder sees nothing
    Given Ivo has issued a credential to Hana
    And Olu has an API key for the DID of Mallory
    When Olu reads the credential with the key
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @getCredential @404:CREDENTIAL_NOT_FOUND
  Scenario: A credential that there is not
    When Hana reads an unknown credential
    Then the answer is 404 CREDENTIAL_NOT_FOUND
