@getDidAuthChallenge
Feature: Get a challenge to sign

  Scenario: It says who asks whom, and until when
    Given Hana has a DID
    When a challenge for the DID of Hana is asked for
    Then the answer is 200
    And the challenge names the DID of Hana, the service and its end
    And nobody may keep a copy of the answer
