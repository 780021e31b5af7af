@getPresentation
Feature: Get what a wallet presented

  Scenario: Nothing came yet
    Given Vic has asked a wallet whether its holder is 18
    When Vic looks what came
    Then the answer is 200
    And nothing came yet

  Scenario: The wallet says no
    Given Vic has asked a wallet whether its holder is 18
    And the wallet has said no
    When Vic looks what came
    Then the answer is 200
    And the wallet has declined

  @404:PRESENTATION_NOT_FOUND
  Scenario: What another verifier asked for
    Given Vic has asked a wallet whether its holder is 18
    When Mallory looks what came
    Then the answer is 404 PRESENTATION_NOT_FOUND
