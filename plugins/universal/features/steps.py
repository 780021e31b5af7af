"""Steps of the stories of this extension, by tag."""

from plugins.universal.features.identifier_steps import *  # noqa: F403
from plugins.universal.features.registration_steps import *  # noqa: F403
