@verifyVcalmCredential
Feature: Verify a credential, as a VCALM verifier does

  Scenario: A part of a credential of bbs-2023
    Given Hana discloses a part of a credential of Ivo's
    When Vera has it verified by VCALM
    Then the answer is 200
    And the answer must not be cached
    And VCALM finds nothing wrong

  Scenario: A credential of this service
    When Vera has a credential of this service verified by VCALM
    Then the answer is 200
    And VCALM finds nothing wrong

  Scenario Outline: A credential that was changed
    Given Hana discloses a part of a credential of Ivo's
    When Vera has it verified by VCALM with another <member>
    Then the answer is 200
    And VCALM finds <problem>

    Examples:
      | member  | problem                     |
      | age     | PROOF_VERIFICATION_ERROR    |
      | issuer  | PARSING_ERROR               |
      | key     | INVALID_VERIFICATION_METHOD |
      | context | PARSING_ERROR               |
      | suite   | PROOF_VERIFICATION_ERROR    |
      | proof   | PARSING_ERROR               |

  Scenario Outline: A credential that holds no longer, or not yet, or perhaps
    Given Hana discloses a credential that is <state>
    When Vera has it verified by VCALM
    Then the answer is 200
    And VCALM finds <problem>

    Examples:
      | state             | problem                |
      | not yet valid     | RANGE_ERROR            |
      | no longer valid   | RANGE_ERROR            |
      | of unknown status | STATUS_RETRIEVAL_ERROR |

  Scenario: A verifier that looks for the status itself
    Given Hana discloses a credential that is of unknown status
    When Vera has it verified by VCALM and looks for the status herself
    Then the answer is 200
    And VCALM finds nothing wrong and warns of STATUS_RETRIEVAL_ERROR

  Scenario: A verifier that asks for more checks than that of the proof
    Given Hana discloses a credential that is of unknown status
    When Vera has it verified by VCALM with more checks than that of the proof
    Then the answer is 200
    And VCALM finds STATUS_RETRIEVAL_ERROR
