Feature: A stolen log key
  The service signs every entry of every DID with its log key. Who has a copy, and can write into the ledger, can write entries. What the
  controller of a DID did not sign is refused all the same, where the log has a place for the signature; where it has none, the key is
  replaced, and is worth nothing from then on.

  Background:
    Given a machine with a service of whose log key Eve has a copy

  Scenario: The log key alone changes no DID that asks for its controller's signature
    Given Hana has a DID of the method "ids" with a service
    When Eve writes into the ledger that the DID of Hana has a service of hers
    Then the service refuses to go on with the DID
    And the audit of the operator finds the DID of Hana
    And the log of Hana with the entry of Eve is refused by "identity did log verify"
    And the DID of anybody else can be changed

  Scenario: The theft is noticed, the key is replaced, and what Eve did is undone
    Given Hana has a DID of the method "webvh" with a service
    And Ivo has a DID of the method "webvh" with a service
    When Eve writes into the ledger that the DID of Hana has a service of hers
    Then the DID of Hana shows a service of Eve
    And the log of Hana is taken by "identity did log verify" and by the reader "did-webvh"
    And Hana finds 3 versions where she made 2
    When the operator replaces the log key, which was compromised
    And Hana recovers the DID as it was in version 2
    Then the DID of Hana shows no service of Eve
    And the log of Hana is taken by "identity did log verify" and by the reader "did-webvh"
    And the log of Hana with one more entry of Eve is refused by "identity did log verify"
    And the log of Hana with one more entry of Eve is refused by the reader "did-webvh"
    # Ivo has not changed his DID since, so his log does not name the new key yet: the retirement stands in the transparency log.
    And the log of Ivo with one more entry of Eve is taken by who has no more than the log
    And the log of Ivo with one more entry of Eve is refused by "identity did log verify" with the history of the service
    When Eve writes into the ledger that the DID of Ivo has a service of hers
    Then the service refuses to go on with the DID
    And the audit of the operator finds the DID of Ivo
    And the DID of anybody else can be changed
