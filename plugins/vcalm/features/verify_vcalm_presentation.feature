@verifyVcalmPresentation
Feature: Verify a presentation, as a VCALM verifier does

  Scenario: A presentation for a challenge of this service, once
    Given Vera has a challenge of VCALM
    And Hana discloses a part of a credential of Ivo's
    And Hana presents it for that challenge
    When Vera has the presentation verified
    Then the answer is 200
    And the answer must not be cached
    And VCALM finds nothing wrong
    When Vera has the presentation verified
    Then the answer is 200
    And VCALM finds INVALID_CHALLENGE_ERROR

  Scenario Outline: A presentation that was changed, or made for another verifier
    When Vera has a presentation verified with another <part>
    Then the answer is 200
    And VCALM finds <problem>

    Examples:
      | part       | problem                                        |
      | challenge  | INVALID_CHALLENGE_ERROR                        |
      | domain     | INVALID_DOMAIN_ERROR                           |
      | holder     | INVALID_VERIFICATION_METHOD                    |
      | signer     | INVALID_VERIFICATION_METHOD                    |
      | credential | PROOF_VERIFICATION_ERROR                       |
      | member     | PROOF_VERIFICATION_ERROR                       |
      | purpose    | INVALID_PROOF_PURPOSE_FOR_VERIFICATION_METHOD  |
      | age        | PROOF_VERIFICATION_ERROR                       |

  Scenario: A challenge that was not issued
    When Vera has a presentation verified for a challenge that was not issued
    Then the answer is 200
    And VCALM finds INVALID_CHALLENGE_ERROR

  Scenario: A verifier that looks for the status itself
    Given Vera has a challenge of VCALM
    And Hana discloses a credential that is of unknown status
    And Hana presents it for that challenge
    When Vera has the presentation verified
    Then VCALM finds STATUS_RETRIEVAL_ERROR
    When Vera has the presentation verified and looks for the status herself
    Then the answer is 200
    And VCALM finds nothing wrong and warns of STATUS_RETRIEVAL_ERROR
