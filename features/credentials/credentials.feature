Feature: Credentials
  Ivo says something of Hana; she holds it, he may take it back, Vera may check it, and nobody else sees it.

  # Issuing

  @issueCredential
  Scenario: An issuer whose key the service holds
    When Ivo issues a credential to Hana
    Then the answer is 201
    And the credential says what was asked for
    And the signature is not in it
    And nobody may keep a copy of the answer

  @issueCredential @422:INVALID_CREDENTIAL
  Scenario Outline: What breaks the schema
    When Ivo issues a credential to Hana with <what>
    Then the answer is 422 INVALID_CREDENTIAL
    And no value is in it

    Examples:
      | what                                       |
      | a fraction for an integer                  |
      | a text for an integer                      |
      | an age beyond the schema                   |
      | more digits than the scale                 |
      | no value for an attribute                  |
      | an attribute that the schema does not have |
      | an end in the past                         |

  @issueCredential @422:INVALID_CREDENTIAL
  Scenario: An issuer who keeps her keys
    Given Irma keeps her keys to herself
    When Irma issues a credential to Hana
    Then the answer is 422 INVALID_CREDENTIAL

  @issueCredential @404:SCHEMA_NOT_FOUND
  Scenario: A schema that there is not
    When Ivo issues a credential to Hana with a schema that nobody registered
    Then the answer is 404 SCHEMA_NOT_FOUND

  # Importing

  @importCredential
  Scenario: An issuer who signs at home
    Given Irma keeps her keys to herself
    When Irma imports a credential of Hana that she signed at home
    Then the answer is 201
    And the credential says what was asked for

  @importCredential @422:INVALID_CREDENTIAL
  Scenario Outline: What the issuer did not sign
    Given Irma keeps her keys to herself
    When Irma imports a credential of Hana with <what>
    Then the answer is 422 INVALID_CREDENTIAL
    And no value is in it

    Examples:
      | what                        |
      | values that were not signed |
      | a signature of nobody       |
      | a key of somebody else      |

  @importCredential @404:SCHEMA_NOT_FOUND
  Scenario: A signature for a schema that there is not
    Given Irma keeps her keys to herself
    When Irma imports a credential of Hana with a schema that nobody registered
    Then the answer is 404 SCHEMA_NOT_FOUND

  # Who is meant

  @400:INVALID_DID
  Scenario Outline: A text that is no DID
    When <operation> names no DID as <role>
    Then the answer is 400 INVALID_DID

    Examples:
      | operation        | role   |
      | issueCredential  | holder |
      | issueCredential  | issuer |
      | importCredential | holder |
      | importCredential | issuer |

  @404:DID_NOT_FOUND
  Scenario Outline: A DID that nobody made
    When <operation> names a DID that nobody has as <role>
    Then the answer is 404 DID_NOT_FOUND

    Examples:
      | operation        | role   |
      | issueCredential  | holder |
      | issueCredential  | issuer |
      | importCredential | holder |
      | importCredential | issuer |

  @410:DID_DEACTIVATED
  Scenario Outline: A DID that was ended
    When <operation> names a DID that is deactivated as <role>
    Then the answer is 410 DID_DEACTIVATED

    Examples:
      | operation        | role   |
      | issueCredential  | holder |
      | issueCredential  | issuer |
      | importCredential | holder |
      | importCredential | issuer |

  @403:FORBIDDEN
  Scenario Outline: A key that may not
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation              |
      | createCredentialSchema |
      | issueCredential        |
      | importCredential       |
      | listCredentials        |
      | getCredential          |
      | setCredentialStatus    |

  # Reading

  @getCredential
  Scenario Outline: Holder and issuer see what it says, and the signature is the holder's
    Given Ivo has issued a credential to Hana
    When <name> reads the credential
    Then the answer is 200
    And the credential says what was asked for
    And the signature <is> in it
    And nobody may keep a copy of the answer

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
  Scenario: An operator for somebody else sees nothing
    Given Ivo has issued a credential to Hana
    And Olu has an API key for the DID of Mallory
    When Olu reads the credential with the key
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @getCredential @404:CREDENTIAL_NOT_FOUND
  Scenario: A credential that there is not
    When Hana reads a credential that nobody has
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @listCredentials
  Scenario: A list holds no values
    Given Ivo has issued a credential to Hana
    When Hana lists credentials
    Then the answer is 200
    And no value is in it

  @listCredentials
  Scenario: A list in pages
    Given Ivo has issued a credential to Hana
    And Ivo has issued a credential to Hana
    When Hana lists credentials one by one
    Then the answer is 200
    And the pages do not overlap

  @listCredentials
  Scenario: An operator lists for a holder
    Given Olu has an API key for the DID of Hana
    When Olu lists the credentials of Hana with the key
    Then the answer is 200

  @listCredentials @403:FORBIDDEN
  Scenario: An operator lists for somebody else
    Given Olu has an API key for the DID of Hana
    When Olu lists the credentials of Mallory with the key
    Then the answer is 403 FORBIDDEN

  @listCredentials @400:INVALID_REQUEST
  Scenario Outline: A list of what nobody may ask for
    When listCredentials is asked for <what>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | what           |
      | everybody's    |
      | a made-up page |

  @listCredentials @400:INVALID_DID
  Scenario: A list of a text that is no DID
    When listCredentials is asked for no DID
    Then the answer is 400 INVALID_DID

  # Status

  @setCredentialStatus
  Scenario: Suspended, and resumed
    Given Ivo has issued a credential to Hana
    And Ivo has suspended the credential
    When Ivo resumes the credential
    Then the answer is 200
    And the status is active

  @setCredentialStatus
  Scenario: Revoked twice
    Given Ivo has issued a credential to Hana
    And Ivo has revoked the credential
    When Ivo revokes the credential
    Then the answer is 200
    And the status is revoked

  @setCredentialStatus @409:CONFLICT
  Scenario Outline: Revocation is final
    Given Ivo has issued a credential to Hana
    And Ivo has revoked the credential
    When Ivo <does> the credential
    Then the answer is 409 CONFLICT

    Examples:
      | does      |
      | suspends  |
      | unrevokes |

  @setCredentialStatus @403:FORBIDDEN
  Scenario: A holder does not revoke
    Given Ivo has issued a credential to Hana
    When Hana revokes the credential
    Then the answer is 403 FORBIDDEN

  @setCredentialStatus @404:CREDENTIAL_NOT_FOUND
  Scenario: A stranger does not learn of it
    Given Ivo has issued a credential to Hana
    When Mallory revokes the credential
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @setCredentialStatus @404:CREDENTIAL_NOT_FOUND
  Scenario: What is not there cannot be revoked
    When Ivo revokes a credential that nobody has
    Then the answer is 404 CREDENTIAL_NOT_FOUND

  @setCredentialStatus @400:INVALID_REQUEST
  Scenario: A purpose that there is not
    When the purpose of a status is oblivion
    Then the answer is 400 INVALID_REQUEST

  # Checking

  @verifyCredential
  Scenario: A good credential
    Given Ivo has issued a credential to Hana
    When Vera verifies the credential
    Then the answer is 200
    And the verdict is good

  @verifyCredential
  Scenario Outline: A changed credential
    Given Ivo has issued a credential to Hana
    When Vera verifies the credential with another <member>
    Then the answer is 200
    And the verdict is <outcome> by <check>

    Examples:
      | member | outcome              | check     |
      | age    | SIGNATURE_INVALID    | signature |
      | holder | RECORD_MISMATCH      | record    |
      | id     | CREDENTIAL_UNKNOWN   | record    |
      | member | CREDENTIAL_MALFORMED | form      |

  @verifyCredential
  Scenario Outline: A credential that was taken back
    Given Ivo has issued a credential to Hana
    And Ivo has <done> the credential
    When Vera verifies the credential
    Then the answer is 200
    And the verdict is <outcome> by status

    Examples:
      | done      | outcome              |
      | suspended | CREDENTIAL_SUSPENDED |
      | revoked   | CREDENTIAL_REVOKED   |

  @getStatusList
  Scenario: A list before anything was revoked
    Given Ivo has issued a credential to Hana
    When Vera reads the status list
    Then the answer is 200
    And 0 bits of the list are set, that of the credential among them

  @getStatusList
  Scenario: A revoked credential is in the list
    Given Ivo has issued a credential to Hana
    And Ivo has revoked the credential
    When Vera reads the status list
    Then the answer is 200
    And 1 bit of the list is set, that of the credential
    And the list is signed by the key that DID logs name

  @getStatusList
  Scenario: A list that has not changed
    Given Ivo has issued a credential to Hana
    When Vera reads the status list again with the tag that she got
    Then the answer is 304

  @getStatusList @404:STATUS_LIST_NOT_FOUND
  Scenario Outline: A list that there is not
    When Vera asks for the status list <name>
    Then the answer is 404 STATUS_LIST_NOT_FOUND

    Examples:
      | name                              |
      | nobody                            |
      | AAAAAAAAAAAAAAAAAAAAAA-revocation |
