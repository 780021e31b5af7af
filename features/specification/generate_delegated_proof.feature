@generateDelegatedProof
Feature: The specification, delegated proofs

  Scenario: The result without an anchor
    Given a credential and a delegation
    When a proof of {"attributeName": "age", "type": "gte", "value": 18} is requested
    Then the response status is 201
    And "proofId" is a string
    And "delegationId" is $delegation
    And "anchor" is absent or null
    And "proof.proof" is a string
    And "proof.publicSignals" is an array of strings
    And "proof.predicateType" is "gte"

  Scenario Outline: Each type of predicate with each type of attribute
    Given a credential and a delegation
    When a proof of {"attributeName": "<attribute>", "type": "<type>", "value": <value>} is requested
    Then the response status is 201

    Examples:
      | attribute | type       | value                        |
      | age       | gte        | 24                           |
      | age       | gt         | 23                           |
      | age       | lte        | 24                           |
      | age       | lt         | 25                           |
      | age       | eq         | 24                           |
      | age       | set_member | [18, 24]                     |
      | age       | gte        | 18.0                         |
      | income    | gte        | "7.25"                       |
      | income    | gte        | 7.25                         |
      | income    | gt         | 7                            |
      | income    | lt         | 8.0                          |
      | income    | eq         | "7.25"                       |
      | born      | lte        | "2007-01-01"                 |
      | born      | eq         | "2000-05-17"                 |
      | born      | set_member | ["2000-05-17", "2001-01-01"] |
      | country   | eq         | "Wakanda"                    |
      | country   | set_member | ["Wakanda", "Genovia"]       |
      | member    | eq         | true                         |

  Scenario Outline: The Authorization header
    Given a credential and a delegation
    When a proof of {"attributeName": "age", "type": "gte", "value": 18} is requested by <who>
    Then the response status is 201

    Examples:
      | who                      |
      | the operator             |
      | the operator with Bearer |
      | the operator with ApiKey |
      | the agent                |

  Scenario Outline: Who may not ask
    Given a credential and a delegation
    When a proof of {"attributeName": "age", "type": "gte", "value": 18} is requested by <who>
    Then the refusal is <status> <code>

    Examples:
      | who                | status | code          |
      | nobody             | 401    | AUTH_REQUIRED |
      | nonsense           | 401    | AUTH_FAILED   |
      | an unknown API key | 401    | AUTH_FAILED   |

  Scenario: A stranger is forbidden
    Given a credential and a delegation
    When a proof of {"attributeName": "age", "type": "gte", "value": 18} is requested by a stranger
    Then the refusal is 403

  Scenario Outline: The required members of the request
    Given a credential and a delegation
    When the proof request has {"<member>": null}
    Then the refusal is 400

    Examples:
      | member       |
      | holderDid    |
      | agentDid     |
      | credentialId |
      | predicate    |

  Scenario Outline: The required members of the predicate
    Given a credential and a delegation
    When the proof request has {"predicate": <predicate>}
    Then the refusal is 400

    Examples:
      | predicate                                           |
      | {"type": "gte", "value": 18}                        |
      | {"attributeName": "age", "value": 18}               |
      | {"attributeName": "age", "type": "is", "value": 18} |

  Scenario Outline: The required members of the IBCT
    Given a credential and a delegation
    When the IBCT has {"<member>": null}
    Then the refusal is 400

    Examples:
      | member        |
      | id            |
      | type          |
      | invoker       |
      | target        |
      | action        |
      | delegationRef |
      | nonce         |
      | issuedAt      |
      | expiresAt     |
      | proofValue    |

  Scenario Outline: An invalid IBCT
    Given a credential and a delegation
    When the IBCT has <changes>
    Then the refusal is 403

    Examples:
      | changes                               |
      | {"type": "AnotherToken"}              |
      | {"invoker": "$agent"}                 |
      | {"target": "$holder"}                 |
      | {"issuedAt": "yesterday"}             |
      | {"expiresAt": "tomorrow"}             |
      | {"action": "zkp.prove.country.eq"}    |
      | {"proofValue": "11111111"}            |

  Scenario: Another signature
    Given a credential and a delegation
    When the IBCT is signed by another key
    Then the refusal is 403

  Scenario Outline: Forms of the IBCT
    Given a credential and a delegation
    When the IBCT has <changes>
    Then the response status is 201

    Examples:
      | changes                                      |
      | {"form": "z"}                                |
      | {"delegationRef": "urn:uuid:$delegation"}    |
      | {"expiresAt": "$tomorrow"}                   |

  Scenario: An expired IBCT
    Given a credential and a delegation
    When the IBCT has {"issuedAt": "$twoDaysAgo", "expiresAt": "$yesterday"}
    Then the refusal is 410

  Scenario: A revoked IBCT
    Given a credential and a delegation
    When the IBCT is revoked and then used
    Then the refusal is 410

  Scenario: A credential that does not exist
    Given a credential and a delegation
    When the proof request has {"credentialId": "urn:uuid:00000000-0000-4000-8000-000000000000"}
    Then the refusal is 404

  Scenario: A predicate that is not satisfied
    Given a credential and a delegation
    When a proof of {"attributeName": "age", "type": "gte", "value": 40} is requested
    Then the refusal is 422

  Scenario: Too little autonomy
    Given a delegation with {"autonomyLevel": 1}
    When a proof of {"attributeName": "age", "type": "gte", "value": 18} is requested
    Then the refusal is 403

  Scenario: A delegation of another action
    Given a delegation with {"actions": ["zkp.prove.country.eq"]}
    When a proof of {"attributeName": "age", "type": "gte", "value": 18} is requested
    Then the refusal is 403

  Scenario: An anchor that is waited for
    Given a credential and a delegation
    When the proof request has {"anchor": true, "syncWaitMs": 5000}
    Then the response status is 201
    And "anchor.status" is "confirmed"
    And "anchor.txHash" is a string
    And "anchor.blockNumber" is an integer

  Scenario: An anchor that is not waited for
    Given a credential and a delegation
    When the proof request has {"anchor": true}
    Then the response status is 201
    And "anchor.status" is one of pending, confirmed

  Scenario Outline: anchor and syncWaitMs have their types
    Given a credential and a delegation
    When the proof request has <members>
    Then the refusal is 400

    Examples:
      | members              |
      | {"anchor": "true"}   |
      | {"syncWaitMs": "5"}  |
      | {"syncWaitMs": -1}   |
      | {"syncWaitMs": 1.5}  |

  Scenario: The anchor stands in the history of verifications and in the timeline
    Given a credential and a delegation
    When the proof request has {"anchor": true, "syncWaitMs": 5000}
    Then the response status is 201
    When "proof" is the answer's "proofId"
    And POST /zkp/proofs/$proof/verify is sent by the operator with {"predicate": {"attributeName": "age", "type": "gte", "value": 18}}
    Then the response status is 200
    And /verifications/history and /dashboard/timeline show the anchor of the proof

  Scenario: The anchor of a proof that was revoked
    Given a credential and a delegation
    When the proof request has {"anchor": true, "syncWaitMs": 5000}
    Then the response status is 201
    When "proof" is the answer's "proofId"
    And POST /zkp/proofs/$proof/revoke is sent by the operator with {"reason": "over"}
    Then the response status is 200
    And the anchor of the proof becomes revoked, with its block
