@resolveDid
Feature: Resolve a DID that is published elsewhere
  With did:web switched on, documents of others are fetched, shown as they are, and trusted with nothing here.

  Scenario: The document, as its controller published it
    Given Hana publishes a DID on the web
    When Vera resolves the DID of Hana
    Then the answer is 200
    And the document is the one that Hana publishes

  @404:DID_NOT_FOUND
  Scenario: A document that was taken down
    Given Hana published a DID on the web and has taken it down
    When Vera resolves the DID of Hana
    Then the answer is 404 DID_NOT_FOUND

  @404:DID_NOT_FOUND
  Scenario: A document of another DID
    Given Mallory publishes a document in the name of somebody else
    When Vera resolves the DID of Mallory
    Then the answer is 404 DID_NOT_FOUND

  @404:DID_NOT_FOUND
  Scenario: It has no versions here
    Given Hana publishes a DID on the web
    When Vera resolves version 1 of the DID of Hana
    Then the answer is 404 DID_NOT_FOUND

  @503:PLUGIN_UNAVAILABLE
  Scenario: A host that is out of order
    Given Hana publishes a DID at a host that is out of order
    When Vera resolves the DID of Hana
    Then the answer is 503 PLUGIN_UNAVAILABLE
