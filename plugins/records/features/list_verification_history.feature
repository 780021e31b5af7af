Feature: List verifications

  @listVerificationHistory
  Scenario: The history of verifications shows the receipt
    Given Vera has a challenge for https://shop.example
    And the proof shall answer it
    And Aki has an anchored proof about Hana
    And Vera has verified it
    When Vera reads the history
    Then each row shows the receipt

  Scenario: An operator sees it all
    Given a good request for listVerificationHistory
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  @listVerificationHistory
  Scenario: The holder sees who verified, newest first
    Given Aki has a proof about Hana for https://shop.example
    And Vera has verified it
    And Vera has verified it for another shop
    When Hana reads the verifications
    Then it lists DOMAIN_MISMATCH, a success
    And it tells whose proof it was

  @listVerificationHistory
  Scenario: The verifier sees what she did and not whose proof it was
    Given Aki has a proof about Hana
    And Vera has verified it
    When Vera reads the verifications
    Then it lists a success
    And it hides whose proof it was

  @listVerificationHistory
  Scenario: Nor can she find out by asking
    Given Aki has a proof about Hana
    And Vera has verified it
    When Vera reads the verifications of Hana
    Then nothing is listed

  @listVerificationHistory
  Scenario Outline: Other clients see nothing
    Given Aki has a proof about Hana
    And Vera has verified it
    When <who> reads the verifications
    Then nothing is listed

    Examples:
      | who     |
      | Aki     |
      | Ivo     |
      | Mallory |

  @listVerificationHistory
  Scenario: A list in pages
    Given Aki has a proof about Hana for https://shop.example
    And Vera has verified it
    And Vera has verified it for another shop
    When Hana reads the verifications one by one
    Then the pages are the list
