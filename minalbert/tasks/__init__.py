"""Fine-tuning: tasks, their data, their scores."""
