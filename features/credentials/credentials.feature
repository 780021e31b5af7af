Feature: Credentials
  Ivo issues a credential to Hana. He may revoke it, Vera may verify it, and no other client sees it.

  # Who is meant

  @400:INVALID_DID
  Scenario Outline: A text that is not a DID
    When <operation> names no DID as <role>
    Then the answer is 400 INVALID_DID

    Examples:
      | operation        | role   |
      | issueCredential  | holder |
      | issueCredential  | issuer |
      | importCredential | holder |
      | importCredential | issuer |

  @404:DID_NOT_FOUND
  Scenario Outline: An unregistered DID
    When <operation> names an unregistered DID as <role>
    Then the answer is 404 DID_NOT_FOUND

    Examples:
      | operation        | role   |
      | issueCredential  | holder |
      | issueCredential  | issuer |
      | importCredential | holder |
      | importCredential | issuer |

  @410:DID_DEACTIVATED
  Scenario Outline: A DID that was ended
    When <operation> names a DID that is deactivated as <role>
    Then the answer is 410 DID_DEACTIVATED

    Examples:
      | operation        | role   |
      | issueCredential  | holder |
      | issueCredential  | issuer |
      | importCredential | holder |
      | importCredential | issuer |

  @403:FORBIDDEN
  Scenario Outline: A key that may not
    Given Olu has an API key that may only list DIDs
    When Olu sends <operation> with it
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation              |
      | createCredentialSchema |
      | issueCredential        |
      | importCredential       |
      | listCredentials        |
      | getCredential          |
      | setCredentialStatus    |
