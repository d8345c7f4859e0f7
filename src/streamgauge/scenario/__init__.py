"""What to do: the model of a scenario, its defaults, and every fault of a wrong one at once."""

from streamgauge.scenario.advice import advice as advice
from streamgauge.scenario.contradictory.contradictions import OWNED_SETTINGS as OWNED_SETTINGS
from streamgauge.scenario.model.consume import Consume as Consume
from streamgauge.scenario.model.environment.connections import Connections as Connections
from streamgauge.scenario.model.environment.topic import Topic as Topic
from streamgauge.scenario.model.load import Load as Load
from streamgauge.scenario.model.scenario import Phases as Phases
from streamgauge.scenario.model.scenario import Scenario as Scenario
from streamgauge.scenario.model.values import SLOWEST as SLOWEST
from streamgauge.scenario.model.values import Setting as Setting
from streamgauge.scenario.parse import document as document
from streamgauge.scenario.parse import examine as examine
from streamgauge.scenario.parse import parse as parse
from streamgauge.scenario.parse import shareable as shareable
from streamgauge.scenario.volume import room_advice as room_advice
