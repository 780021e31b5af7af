@eraseRecords
Feature: A holder erases what is kept about her

  Scenario: An operator does it for a holder
    Given a good request for eraseRecords
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  Scenario: What Hana erases is gone, for others too
    Given Aki has a proof about Hana
    And Vera has verified it
    When Hana erases her timeline, proofs
    Then the answer is 200
    And 4 timeline, 1 proofs are erased
    And Hana has no timeline any more
    And the proof is not to be found

  Scenario: A credential leaves nothing that could be shown
    Given Aki has a proof about Hana
    When Hana erases her credentials
    Then 1 credentials are erased
    And the credential is not to be found by Hana

  Scenario: A second time erases nothing
    Given Aki has a proof about Hana
    When Hana erases her proofs
    And Hana erases her proofs
    Then 0 proofs are erased

  @403:FORBIDDEN
  Scenario Outline: A client cannot erase another holder's records
    Given Aki has a proof about Hana
    When <who> erases the records of Hana
    Then the answer is 403 FORBIDDEN
    And the proof is still there

    Examples:
      | who  |
      | Aki  |
      | Ivo  |
      | Vera |

  @400:INVALID_REQUEST
  Scenario Outline: A request that says nothing that could be done
    When a client sends eraseRecords with <what>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | what                |
      | a kind that is none |
      | no kind             |

  @400:INVALID_REQUEST
  Scenario: An operator who does not say whose
    When Olu erases records and does not say whose
    Then the answer is 400 INVALID_REQUEST

  @400:INVALID_DID
  Scenario: A holder that is not a DID
    When a client sends eraseRecords with a holder that is not a DID
    Then the answer is 400 INVALID_DID
