@getDashboardTimeline
Feature: What happened, for those whom it concerns

  Scenario: An operator sees it all
    Given a good request for getDashboardTimeline
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  Scenario Outline: Each sees what concerns them
    Given Aki has a proof about Hana
    And Vera has verified it
    And Hana has revoked the proof
    When <who> reads the timeline
    Then the timeline tells <kinds>

    Examples:
      | who  | kinds                                                                                     |
      | Hana | proof.revoked, proof.verified, proof.generated, delegation.created, credential.issued     |
      | Aki  | proof.revoked, proof.generated, delegation.created                                        |
      | Ivo  | credential.issued                                                                         |

  Scenario: Strangers see nothing
    Given Aki has a proof about Hana
    When Mallory reads the timeline
    Then nothing is listed

  Scenario: One kind of thing
    Given Aki has a proof about Hana
    When Hana reads the proofs in the timeline
    Then the timeline tells proof.generated

  Scenario: A list in pages
    Given Aki has a proof about Hana
    When Hana reads the timeline one by one
    Then the pages are the list

  Scenario: Nothing has happened tomorrow
    Given Aki has a proof about Hana
    When Hana reads the timeline of tomorrow
    Then nothing is listed

  @400:INVALID_REQUEST
  Scenario Outline: A question that is none
    When Olu sends getDashboardTimeline with the query <query>
    Then the answer is 400 INVALID_REQUEST

    Examples:
      | query           |
      | after=yesterday |
      | kind=PROOF      |
      | cursor=AAAA     |

  @getDashboardTimeline
  Scenario: The timeline tells of the anchor
    Given Aki has an anchored proof about Hana
    When Hana reads the timeline
    Then an event anchor.confirmed shows the receipt
