Feature: See, verify and revoke a stored proof
  Aki obtained a proof about Hana. Both see it and may take it back; anyone who has its id may ask whether it still holds.

  Scenario Outline: Holder and agent see it
    Given Aki has a proof about Hana
    When <who> looks at the proof
    Then it shows the proof and no attribute

    Examples:
      | who  |
      | Hana |
      | Aki  |

  @404:PROOF_NOT_FOUND
  Scenario Outline: For everybody else there is no such proof
    Given Aki has a proof about Hana
    When <who> looks at the proof
    Then the answer is 404 PROOF_NOT_FOUND
    And the refusal's body has nothing but the error

    Examples:
      | who     |
      | Vera    |
      | Ivo     |
      | Mallory |

  @404:PROOF_NOT_FOUND
  Scenario: A stranger cannot take it back
    Given Aki has a proof about Hana
    When Mallory revokes the proof
    Then the answer is 404 PROOF_NOT_FOUND

  @404:PROOF_NOT_FOUND
  Scenario Outline: A proof that there is not
    When <operation> is asked about a proof that there is not
    Then the answer is 404 PROOF_NOT_FOUND

    Examples:
      | operation         |
      | getProof          |
      | verifyStoredProof |
      | revokeProof       |

  @404:PROOF_NOT_FOUND
  Scenario Outline: A key that may not act for the holder
    Given Aki has a proof about Hana
    And Olu has an API key to <what> for Ivo alone
    When Olu sends <operation> with it
    Then the answer is 404 PROOF_NOT_FOUND

    Examples:
      | operation   | what   |
      | getProof    | verify |
      | revokeProof | prove  |

  Scenario: A verifier whose challenge it answers may ask
    Given Vera has a challenge for https://shop.example
    And Aki has a proof that is bound to it
    When Vera verifies the stored proof
    Then it is verified
    And predicate, challenge, domain, issuerDid, schemaId, maxAge are listed as unchecked

  Scenario: Anyone else who has the id is told what was not looked at
    Given Aki has a proof about Hana
    And Ivo has made the revocation of her credential known
    When Mallory verifies the stored proof
    Then it is verified
    And what became of credential, holder and proof is listed as unchecked

  Scenario Outline: A revoked proof
    Given Vera has a challenge for https://shop.example
    And Aki has a proof that is bound to it
    And <who> has revoked the proof
    When Vera verifies the stored proof
    Then it is refused with PROOF_REVOKED

    Examples:
      | who  |
      | Hana |
      | Aki  |

  Scenario: The first revocation counts
    Given Aki has a proof about Hana
    And Hana has revoked the proof
    When Aki revokes the proof
    Then the answer is 200
    And it says that Hana took the proof back

  Scenario Outline: A credential that is no longer in force
    Given Vera has a challenge for https://shop.example
    And Aki has a proof that is bound to it
    And Ivo has made the <purpose> of her credential known
    When <who> verifies the <which> proof
    Then it is refused with <code>

    Examples:
      | purpose    | who  | which  | code                 |
      | revocation | Vera | stored | CREDENTIAL_REVOKED   |
      | suspension | Vera | stored | CREDENTIAL_SUSPENDED |
      | revocation | Vera | shown  | CREDENTIAL_REVOKED   |
      | revocation | Hana | stored | CREDENTIAL_REVOKED   |
      | revocation | Aki  | shown  | CREDENTIAL_REVOKED   |

  Scenario: A delegation that ended is a warning
    Given Vera has a challenge for https://shop.example
    And Aki has a proof that is bound to it
    And Hana has revoked the delegation
    When Vera verifies the stored proof
    Then it is verified
    And it warns of DELEGATION_REVOKED
