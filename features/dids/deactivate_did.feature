@deactivateDid
Feature: Deactivate a DID
  For good.

  Scenario: The end
    Given Hana has a DID
    When Hana deactivateDids the DID
    Then the answer is 200

  @403:FORBIDDEN
  Scenario: A key in grace may not end the DID
    Given Hana has a DID
    And Hana has rotated the key with a day of grace
    When Hana deactivateDids with the old key
    Then the answer is 403 FORBIDDEN

  @412:VERSION_CONFLICT
  Scenario: If-Match with another version
    Given Hana has a DID
    When Hana deactivateDids with the tag of another version
    Then the answer is 412 VERSION_CONFLICT

  @422:CONFIRMATION_REQUIRED
  Scenario: It must be meant
    Given Hana has a DID
    When Hana asks to deactivate without meaning it
    Then the answer is 422 CONFIRMATION_REQUIRED

  @422:INVALID_DOCUMENT
  Scenario: A did:key cannot end
    Given Hana has registered a did:key of her own
    When Hana deactivateDids the DID
    Then the answer is 422 INVALID_DOCUMENT
