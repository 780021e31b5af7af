Feature: Count verifications

  Scenario: An operator sees it all
    Given a good request for getVerificationStats
    When it is sent
    Then the answer is 200
    And the answer must not be cached

  @getVerificationStats
  Scenario: The holder counts
    Given Aki has a proof about Hana for https://shop.example
    And Vera has verified it
    And Vera has verified it for another shop
    When Hana counts the verifications
    Then it counts 1 that held and 1 that did not, for DOMAIN_MISMATCH
