@requestPresentation
Feature: Ask a wallet for a presentation

  Scenario: A wallet shows that its holder is of age
    Given Hana's wallet has collected a credential of Ina's
    When Vic asks a wallet whether its holder is 18
    Then the answer is 201
    And the wallet reads a request that Vic's key has signed
    And the wallet presents what was asked for
    And Vic reads that the holder is 18 and not how old

  Scenario: A wallet chooses which of two things it shows
    Given Hana's wallet has collected a credential of Ina's
    When Vic asks a wallet for the country, or else for the age
    Then the answer is 201
    And the wallet presents the age alone
    And Vic reads how old the holder is and not where from

  Scenario: A wallet chooses which of two credentials it shows
    Given Hana's wallet has collected a credential of Ina's
    When Vic asks a wallet for a membership card, or else for the age
    Then the answer is 201
    And the wallet presents its second credential alone
    And Vic reads how old the holder is and not where from

  Scenario: A claim that says something else is not enough
    Given Hana's wallet has collected a credential of Ina's
    When Vic asks a wallet for a holder who is not 18
    Then the answer is 201
    And the wallet is refused for what it presents
    When Vic looks what came
    Then nothing came yet

  Scenario: A presentation is encrypted to its verifier
    Given Hana's wallet has collected a credential of Ina's
    When Vic asks a wallet whether its holder is 18, encrypted for Vic
    Then the answer is 201
    And the wallet presents it encrypted to the key of the request
    And Vic reads that the holder is 18 and not how old

  @400:INVALID_REQUEST
  Scenario: A set of claims that there are not
    Given Hana's wallet has collected a credential of Ina's
    When Vic asks a wallet for what no set of claims names
    Then the answer is 400 INVALID_REQUEST

  @400:INVALID_REQUEST
  Scenario: A combination of credentials that are not requested
    Given Hana's wallet has collected a credential of Ina's
    When Vic asks a wallet for a combination of which no credential is named
    Then the answer is 400 INVALID_REQUEST

  @400:INVALID_REQUEST
  Scenario: A verifier whose keys the service does not hold
    When Vera asks a wallet whether its holder is 18
    Then the answer is 400 INVALID_REQUEST

  @400:INVALID_DID
  Scenario: A verifier that is not a DID
    When an operator asks a wallet in the name of an invalid DID
    Then the answer is 400 INVALID_DID

  @403:FORBIDDEN
  Scenario: In the name of another
    When Mallory asks a wallet in the name of Vic
    Then the answer is 403 FORBIDDEN
