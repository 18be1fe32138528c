import evaluate
from evaluate.utils import launch_gradio_widget

launch_gradio_widget(evaluate.load("task_graph_f1.py"))
