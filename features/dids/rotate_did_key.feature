@rotateDidKey
Feature: Replace a key
  At once, or with a grace period in which the old key still does a little.

  Scenario: At once
    Given Hana has a DID
    When Hana asks to rotate at once
    Then the answer is 200
    And the answer must not be cached

  Scenario: With grace
    Given Hana has a DID
    When Hana asks to rotate with a week of grace
    Then the answer is 200
    And the old key stays until then

  Scenario: To an own key
    Given Hana has a DID
    When Hana asks to rotate to an own key
    Then the answer is 200
    And the answer holds no private key

  @403:FORBIDDEN
  Scenario: A key in grace may not rotate
    Given Hana has a DID
    And Hana has rotated the key with a day of grace
    When Hana rotateDidKeys with the old key
    Then the answer is 403 FORBIDDEN

  @412:VERSION_CONFLICT
  Scenario: If-Match with another version
    Given Hana has a DID
    When Hana rotateDidKeys with the tag of another version
    Then the answer is 412 VERSION_CONFLICT

  @422:INVALID_DOCUMENT
  Scenario: A year of grace is too long
    Given Hana has a DID
    When Hana asks to rotate with a year of grace
    Then the answer is 422 INVALID_DOCUMENT
