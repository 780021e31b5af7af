Feature: Registrars are asked like everything else
  What is wrong with a request before anybody looks at what it asks for, and what no client can cause.

  @409:REQUEST_IN_PROGRESS
  Scenario Outline: The second comes while the first is being answered
    Given a service whose answers take a while
    When <operation> is sent again while the first is being answered
    Then the answer is 409 REQUEST_IN_PROGRESS

    Examples:
      | operation               |
      | registerDid             |

  @503:DID_QUARANTINED
  Scenario Outline: What is stored about a DID and does not follow from the ledger decides nothing
    Given a service whose index was changed by another program
    And a good request for <operation>
    When the fault strikes and it is sent
    Then the answer is 503 DID_QUARANTINED

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @400:INVALID_DID
  Scenario Outline: A text that is not a DID
    When a registrar begins <operation> for the DID did:ids:short
    Then the answer is 400 INVALID_DID

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @404:DID_NOT_FOUND
  Scenario Outline: An unregistered DID
    When a registrar begins <operation> for an unregistered DID
    Then the answer is 404 DID_NOT_FOUND

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @410:DID_DEACTIVATED
  Scenario Outline: A DID that was ended
    Given Hana has a DID
    And Hana has deactivated the DID
    When a registrar begins <operation> for the DID of Hana
    Then the answer is 410 DID_DEACTIVATED

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @401:AUTH_FAILED
  Scenario Outline: A job that another DID has signed is refused
    Given Hana has a DID
    When Mallory signs the job of <operation> for the DID of Hana
    Then the answer is 401 AUTH_FAILED

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @403:FORBIDDEN
  Scenario Outline: A key in grace may not remove keys or end a DID
    Given Hana has a DID
    And Hana has rotated the key with a day of grace
    When Hana signs the job of <operation> that takes a key away with the old key
    Then the answer is 403 FORBIDDEN

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |

  @422:INVALID_DOCUMENT
  Scenario Outline: A did:key cannot change
    Given Hana has registered a did:key of her own
    When Hana does <operation> as a registrar does
    Then the answer is 422 INVALID_DOCUMENT

    Examples:
      | operation               |
      | registerDidUpdate       |
      | registerDidDeactivation |
