@updateDid
Feature: Change a DID document
  The controller signs; each change is a version, and several operations are one.

  Scenario Outline: The named operations
    Given Hana has a DID with a service
    When Hana asks to <what>
    Then the answer is 200
    And the document is version 2
    And the document has <count> services

    Examples:
      | what                             | count |
      | add a service                    | 2     |
      | replace the service              | 1     |
      | remove the service               | 0     |
      | add a key                        | 1     |
      | set another name                 | 1     |
      | add a key and remove the old one | 1     |

  Scenario: If-Match with the current version
    Given Hana has a DID
    When Hana updateDids with the tag of this version
    Then the answer is 200

  Scenario: A key in grace may still change services
    Given Hana has a DID
    And Hana has rotated the key with a day of grace
    When Hana updateDids with the old key
    Then the answer is 200

  Scenario: A retry with the same Idempotency-Key and a fresh signature
    Given a good request for updateDid
    When it is sent twice with one Idempotency-Key
    Then the answer is 200
    And both answers are the same

  Scenario: Empty lists of members that the operation does not take, as some generated clients send
    Given Hana has a DID with a service
    When Hana asks to add a service and sends empty lists
    Then the answer is 200
    And the document has 2 services

  @400:INVALID_REQUEST
  Scenario: An entry that shows the signed body has no empty lists
    Given Hana has a DID with strict evidence
    When Hana asks to add a service and sends empty lists
    Then the answer is 400 INVALID_REQUEST

  @401:AUTH_FAILED
  Scenario Outline: With strictEvidence, a signature that is bound to less than this change
    Given Hana has a DID with strict evidence
    When Hana sends updateDid with a signature that is bound to <what>
    Then the answer is 401 AUTH_FAILED

    Examples:
      | what              |
      | nothing           |
      | the purpose alone |
      | the body alone    |

  Scenario Outline: A plain challenge on a DID with default options, in each form of the specification
    Given Hana has a DID
    When Hana asks with a plain challenge to <what>
    Then the answer is 200

    Examples:
      | what          |
      | add a service |
      | add a key     |
      | remove a key  |

  Scenario: strictEvidence begins, and every later change must be bound
    Given Hana has a DID
    And Hana has changed the document once
    When Hana asks to require strict evidence
    Then the answer is 200
    And the DID of Hana has 1 unbound change in version 3
    And a plain challenge of Hana changes the DID no more
    And the log proves strict evidence from version 3 on

  @401:AUTH_FAILED
  Scenario Outline: strictEvidence begins with a signature that is bound to less than this change
    Given Hana has a DID
    When Hana requires strict evidence with a signature that is bound to <what>
    Then the answer is 401 AUTH_FAILED

    Examples:
      | what              |
      | nothing           |
      | the purpose alone |
      | the body alone    |

  @422:INVALID_DOCUMENT
  Scenario: strictEvidence is never turned off
    Given Hana has a DID with strict evidence
    When Hana asks to turn strict evidence off
    Then the answer is 422 INVALID_DOCUMENT

  @422:INVALID_DOCUMENT
  Scenario: strictEvidence begins once
    Given Hana has a DID with strict evidence
    When Hana asks to require strict evidence
    Then the answer is 422 INVALID_DOCUMENT

  @400:INVALID_REQUEST
  Scenario: An unknown operation
    Given Hana has a DID
    When Hana asks to do what no operation does
    Then the answer is 400 INVALID_REQUEST

  @401:AUTH_FAILED
  Scenario: A signature serves once
    Given Hana has a DID
    When Hana sends the same signature of updateDid again
    Then the answer is 401 AUTH_FAILED

  @412:VERSION_CONFLICT
  Scenario: If-Match with another version
    Given Hana has a DID
    When Hana updateDids with the tag of another version
    Then the answer is 412 VERSION_CONFLICT

  @422:INVALID_DOCUMENT
  Scenario: The last authentication key stays
    Given Hana has a DID
    When Hana asks to remove the last authentication key
    Then the answer is 422 INVALID_DOCUMENT

  Scenario: A key that signs credentials comes with its proof
    Given Hana has a DID
    When Hana adds a key that signs credentials with its proof
    Then the answer is 200
    And the document is version 2

  @422:INVALID_DOCUMENT
  Scenario Outline: A document cannot list another DID's key
    Given Hana has a DID
    When Hana adds a key that signs credentials with <proof>
    Then the answer is 422 INVALID_DOCUMENT
    And the details have a remedy and a docUrl that the service serves

    Examples:
      | proof                |
      | no proof             |
      | the proof of Mallory |

  @422:INVALID_DOCUMENT
  Scenario: A did:key cannot change
    Given Hana has registered a did:key of her own
    When Hana asks to add a service
    Then the answer is 422 INVALID_DOCUMENT

  @403:FORBIDDEN
  Scenario: A key in grace may not remove keys
    Given Hana has a DID
    And Hana has rotated the key with a day of grace
    When Hana removes a key with the old key
    Then the answer is 403 FORBIDDEN
