Feature: Delegated zero-knowledge proofs
  A request has five required members. The holder signs the IBCT over its canonical JSON.

  Background:
    Given the plain client has a credential and a delegation

  Scenario Outline: A predicate that holds
    When the plain client requests a <type> proof that holds
    Then the service responds 201
    And the response is a proof without an anchor

    Examples:
      | type       |
      | gte        |
      | gt         |
      | lte        |
      | lt         |
      | eq         |
      | set_member |

  Scenario Outline: A predicate that does not hold
    When the plain client requests a <type> proof that does not hold
    Then the service responds 422 PREDICATE_NOT_SATISFIED

    Examples:
      | type       |
      | gte        |
      | gt         |
      | lte        |
      | lt         |
      | eq         |
      | set_member |

  Scenario Outline: The Authorization header
    When the plain client requests a proof with <credential> in Authorization
    Then the service responds <status>

    Examples:
      | credential            | status          |
      | Bearer KEY            | 201             |
      | ApiKey KEY            | 201             |
      | DIDAuth of the agent  | 201             |
      | DIDAuth of a stranger | 403 FORBIDDEN   |
      | Bearer unknown        | 401 AUTH_FAILED |

  Scenario: No Authorization header
    When the plain client requests a proof without Authorization
    Then the service responds 401 AUTH_REQUIRED

  Scenario Outline: An IBCT that does not fit
    When the plain client requests a proof whose IBCT has another <member>
    Then the service responds 403 <code>

    Examples:
      | member        | code               |
      | type          | IBCT_INVALID       |
      | invoker       | IBCT_INVALID       |
      | target        | IBCT_INVALID       |
      | proofValue    | IBCT_INVALID       |
      | action        | SCOPE_MISMATCH     |
      | delegationRef | DELEGATION_INVALID |

  Scenario Outline: A required member is missing
    When the plain client requests a proof without the member <member>
    Then the service responds 400 INVALID_REQUEST

    Examples:
      | member                     |
      | holderDid                  |
      | agentDid                   |
      | credentialId               |
      | predicate                  |
      | ibct                       |
      | attributeName of predicate |
      | type of predicate          |
      | id of ibct                 |
      | type of ibct               |
      | invoker of ibct            |
      | target of ibct             |
      | action of ibct             |
      | delegationRef of ibct      |
      | nonce of ibct              |
      | issuedAt of ibct           |
      | expiresAt of ibct          |
      | proofValue of ibct         |

  Scenario: An unknown credential
    When the plain client requests a proof of an unknown credential
    Then the service responds 404 CREDENTIAL_NOT_FOUND

  Scenario: An expired IBCT
    When the plain client requests a proof with an expired IBCT
    Then the service responds 410 IBCT_EXPIRED

  Scenario: A revoked IBCT
    When the plain client requests a proof with a revoked IBCT
    Then the service responds 410 IBCT_REVOKED

  Scenario: An anchor without waiting
    When the plain client requests an anchored proof
    Then the service responds 201
    And the response is a proof with a pending anchor

  Scenario: An anchor with a wait
    When the plain client requests an anchored proof and waits 20000 ms
    Then the service responds 201
    And the response is a proof with a confirmed anchor
